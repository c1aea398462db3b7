-- In which schemas names are looked up; one row.
SELECT current_setting('search_path') AS search_path;
