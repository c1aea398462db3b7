-- Notes which anchors land on the built site: all but the dead ones, given as addresses and
-- anchors; null notes none. Touches only rows that change; returns nothing.
UPDATE chunks SET anchor_lands = marked.lands
FROM (SELECT c.id, CASE WHEN %(urls)s::text[] IS NOT NULL THEN dead.url IS NULL END AS lands
      FROM chunks c
      LEFT JOIN unnest(%(urls)s::text[], %(anchors)s::text[]) AS dead (url, anchor)
             ON dead.url = c.url AND dead.anchor = c.anchor
      WHERE c.anchor <> '') AS marked
WHERE chunks.id = marked.id AND chunks.anchor_lands IS DISTINCT FROM marked.lands;
