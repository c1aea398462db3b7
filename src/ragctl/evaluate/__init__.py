"""How good it is: questions with known answers, and figures from what is found for them."""
