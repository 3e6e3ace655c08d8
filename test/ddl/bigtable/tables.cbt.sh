# What Rowan keeps of entities beside a table (rowan_tables) is not in here: rowan schema apply writes it.

# 2 of 4 split keys cannot be written as text here: rowan schema apply makes the table with all of them.
# The namespace shop is part of the name; rowan schema apply notes it.
# Left out, for Bigtable has no place for it: maxFileSize 1073741824.
# Left out, for Bigtable has no place for it: log compression ZSTD, keepDeletedCells TRUE.
cbt createtable shop..orders 'families=d:maxversions=1,end:maxage=60s,log:(maxversions=5 || (maxage=86400s && maxversions=1)),old:never' 'splits=c,it'\''s'

cbt createtable 2-plain families=f:maxversions=1
