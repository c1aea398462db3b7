-- Who works or waits on a machine: owner and process.
SELECT owner, pid FROM generation_slots WHERE host = %(host)s;
