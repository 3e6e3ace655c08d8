# The metadata that Rowan keeps of entities (rowan_tables) is not included: rowan schema apply writes it.

# 2 of 4 split keys cannot be written as text here: rowan schema apply creates the table with all of them.
# The namespace shop is part of the name; rowan schema apply records it.
# Omitted, not supported by Bigtable: maxFileSize 1073741824.
# Omitted, not supported by Bigtable: log compression ZSTD, keepDeletedCells TRUE.
cbt createtable shop..orders 'families=d:maxversions=1,end:maxage=60s,log:(maxversions=5 || (maxage=86400s && maxversions=1)),old:never' 'splits=c,it'\''s'

cbt createtable 2-plain families=f:maxversions=1
