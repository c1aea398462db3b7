-- Notes the size and time of a file whose content is still the stored one; returns nothing.
UPDATE pages SET size_bytes = %(size_bytes)s, mtime_ns = %(mtime_ns)s WHERE id = %(id)s;
