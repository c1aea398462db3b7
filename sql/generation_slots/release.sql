-- Gives a slot or a place in line back, and clears away what no longer counts; returns nothing.
DELETE FROM generation_slots WHERE owner = %(owner)s OR expires_at < clock_timestamp();
