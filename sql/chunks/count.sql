-- How many passages there are, in some tracks or all.
SELECT count(*)::int AS passages FROM chunks
WHERE %(tracks)s::text[] IS NULL OR track = ANY (%(tracks)s::text[]);
