-- Reads every row of the table once, so that it lies in memory; how many have a breadcrumb.
SELECT count(breadcrumb) FROM chunks;
