-- Whether a model writes an answer or a question waits for that; one row.
SELECT EXISTS (SELECT FROM generation_slots WHERE expires_at > clock_timestamp()) AS is_busy;
