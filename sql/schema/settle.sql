-- Sets for this session what a database may have set otherwise; returns both values.
SELECT set_config('datestyle', 'ISO', false) AS datestyle,
       set_config('standard_conforming_strings', 'on', false) AS standard_conforming_strings;
