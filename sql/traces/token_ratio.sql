-- How many tokens servers counted for one of ours, at most, in the newest prompts; one row, null
-- where nothing is known.
SELECT max(prompt_tokens::float8 / prompt_counted) AS ratio
FROM (SELECT prompt_tokens, prompt_counted
      FROM traces
      WHERE prompt_tokens > 0 AND prompt_counted > 0
      ORDER BY id DESC
      LIMIT 50) AS newest;
