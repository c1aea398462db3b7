-- Forgets the failures of some routes; returns the routes that had any.
DELETE FROM breakers WHERE route = ANY(%(routes)s)
RETURNING route;
