-- Whether the role may read passages and whether it may ingest.
SELECT has_table_privilege('chunks', 'SELECT') AND has_table_privilege('pages', 'SELECT') AS may_read,
       has_table_privilege('chunks', 'INSERT') AND has_table_privilege('pages', 'INSERT') AS may_write;
