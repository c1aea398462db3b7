-- Whether old traces are to be looked for now; one row.
SELECT rests_until <= clock_timestamp() FROM trace_upkeep;
