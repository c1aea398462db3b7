-- Keeps what was said of an answer, in the place of what was said before; returns nothing.
INSERT INTO feedback (trace_id, good, note, at)
VALUES (%(trace_id)s, %(good)s, %(note)s, %(at)s)
ON CONFLICT (trace_id) DO UPDATE
SET good = excluded.good, note = excluded.note, at = excluded.at;
