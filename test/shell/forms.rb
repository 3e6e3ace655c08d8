# Further forms of statements: filters, options of scans, and alter, which the real shell and Rowan's answer alike, on both engines.

# Versions that deletes leave (seed 003 section 45)
create 'sm_k', {NAME => 'e', VERSIONS => 2147483647, KEEP_DELETED_CELLS => true}
put 'sm_k', 'r1', 'e:c1', 'value', 10
put 'sm_k', 'r1', 'e:c1', 'value', 12
put 'sm_k', 'r1', 'e:c1', 'value', 14
delete 'sm_k', 'r1', 'e:c1', 11
scan 'sm_k', {RAW=>true, VERSIONS=>1000}
flush 'sm_k'
scan 'sm_k', {RAW=>true, VERSIONS=>1000}
major_compact 'sm_k'
scan 'sm_k', {RAW=>true, VERSIONS=>1000}
get 'sm_k', 'r1', {COLUMN => 'e:c1', VERSIONS => 10, TIMERANGE => [0, 12]}
deleteall 'sm_k', 'r1', 'e:c1', 13
get 'sm_k', 'r1', {COLUMN => 'e:c1', VERSIONS => 10}
get 'sm_k', 'r1', {COLUMN => 'e:c1', VERSIONS => 10, TIMERANGE => [0, 13]}
scan 'sm_k', {RAW => true, VERSIONS => 3}
scan 'sm_k', {RAW => true, VERSIONS => 10, REVERSED => true}
scan 'sm_k', {RAW => true, VERSIONS => 10, TIMERANGE => [11, 14]}
scan 'sm_k', {RAW => true, VERSIONS => 10, COLUMNS => ['e:c1']}

# Filters beside options of scans
create 'sm_f', {NAME => 'f', VERSIONS => 3}, {NAME => 'g'}
%w[a1 a2 b1 b2 b3 c1].each_with_index { |row, i| put 'sm_f', row, 'f:n', format('%03d', i), 10 + i; put 'sm_f', row, 'f:name', "name #{row}", 20 + i }
put 'sm_f', 'b1', 'g:z', "it's", 40
put 'sm_f', 'b2', 'g:z', "(x) AND 'y'", 41
put 'sm_f', 'c1', 'g:', 'bare', 42
put 'sm_f', "d\x00\x01", 'g:raw', "\x00\x7f\x80\xff", 43
put 'sm_f', 'a1', 'f:n', '900', 5
scan 'sm_f', FILTER => "PageFilter(2)", STARTROW => 'a2'
scan 'sm_f', FILTER => "PageFilter(2)", REVERSED => true
scan 'sm_f', FILTER => "PrefixFilter('b')", LIMIT => 2, COLUMNS => ['f:n']
scan 'sm_f', FILTER => "PrefixFilter('b') AND ColumnPrefixFilter('na')"
scan 'sm_f', FILTER => "ColumnPrefixFilter('n') AND PrefixFilter('a') AND KeyOnlyFilter(true)"
scan 'sm_f', FILTER => "FirstKeyOnlyFilter() AND KeyOnlyFilter()"
scan 'sm_f', FILTER => "FirstKeyOnlyFilter() AND PageFilter(3)"
scan 'sm_f', FILTER => "InclusiveStopFilter('b2') AND QualifierFilter(=, 'binary:n')", STARTROW => 'a2'
scan 'sm_f', FILTER => "ValueFilter(=, 'binary:it''s')"
scan 'sm_f', FILTER => "ValueFilter(=, 'substring:it''S')"
scan 'sm_f', FILTER => "ValueFilter(=, 'binary:(x) AND ''y''')"
scan 'sm_f', FILTER => "ValueFilter(=, 'regexstring:^name [ab]1$')"
scan 'sm_f', FILTER => "ValueFilter(!=, 'regexstring:^name')"
scan 'sm_f', FILTER => "ValueFilter(=, 'binaryprefix:name b')"
scan 'sm_f', FILTER => "ValueFilter(<, 'binaryprefix:name b')"
scan 'sm_f', FILTER => "QualifierFilter(=, 'binary:')"
scan 'sm_f', FILTER => "QualifierFilter(=, 'regexstring:^$')"
scan 'sm_f', FILTER => "FamilyFilter(>, 'binary:f')"
scan 'sm_f', FILTER => "FamilyFilter(=, 'substring:G')"
scan 'sm_f', FILTER => "TimestampsFilter(10, 21, 43)"
scan 'sm_f', FILTER => "TimestampsFilter(5)", VERSIONS => 3
scan 'sm_f', FILTER => "ColumnPaginationFilter(1, 1)", COLUMNS => 'f'
scan 'sm_f', FILTER => "ColumnPaginationFilter(1, 5)"
scan 'sm_f', FILTER => "ColumnCountGetFilter(1)", LIMIT => 2
scan 'sm_f', FILTER => "MultipleColumnPrefixFilter('z', 'na')"
scan 'sm_f', FILTER => "ColumnRangeFilter('n', false, 'z', true)"
scan 'sm_f', FILTER => "ColumnRangeFilter('', true, 'n', true)", STARTROW => 'c'
scan 'sm_f', FILTER => "SingleColumnValueFilter('f', 'n', >=, 'binary:002', true, true) AND SingleColumnValueFilter('f', 'n', <, 'binary:004', true, true)"
scan 'sm_f', FILTER => "SingleColumnValueFilter('f', 'n', =, 'regexstring:00[13]')", COLUMNS => ['f:n', 'g']
scan 'sm_f', FILTER => "SingleColumnValueFilter('g', 'z', =, 'substring:and', true, false)"
scan 'sm_f', FILTER => "SingleColumnValueFilter('g', 'z', !=, 'binary:x', false, true)"
scan 'sm_f', FILTER => "SingleColumnValueExcludeFilter('f', 'name', =, 'substring:1')", LIMIT => 2
scan 'sm_f', FILTER => "DependentColumnFilter('f', 'n', false, >, 'binary:002')"
scan 'sm_f', FILTER => "SKIP (ValueFilter(!=, 'binary:003'))"
scan 'sm_f', FILTER => "WHILE (RowFilter(!=, 'binary:b2'))"
scan 'sm_f', FILTER => "SKIP PrefixFilter('b') OR PrefixFilter('c')"
scan 'sm_f', FILTER => "PrefixFilter('a') OR (PrefixFilter('b') AND ValueFilter(=, 'binary:003')) OR FamilyFilter(=, 'binary:g')"
scan 'sm_f', FILTER => "(PrefixFilter('a') AND PrefixFilter('b')) OR PrefixFilter('c')"
scan 'sm_f', FILTER => "PrefixFilter('a')AND QualifierFilter(=,'binary:n')"
scan 'sm_f', FILTER => "PrefixFilter('a') and PrefixFilter('b')"
scan 'sm_f', FILTER => "PrefixFilter('a') AND AND PrefixFilter('b')"
scan 'sm_f', FILTER => "PrefixFilter('a'"
scan 'sm_f', FILTER => "PrefixFilter('a))"
scan 'sm_f', FILTER => "PrefixFilter('a')) OR PrefixFilter('b')"
scan 'sm_f', FILTER => "RowFilter(~, 'binary:a')"
scan 'sm_f', FILTER => "RowFilter(=, 'binary')"
scan 'sm_f', FILTER => "TimestampsFilter()"
scan 'sm_f', FILTER => "TimestampsFilter(-1)"
scan 'sm_f', FILTER => "PageFilter(-1)"
scan 'sm_f', FILTER => "ColumnPaginationFilter(1)"
scan 'sm_f', FILTER => "()"
scan 'sm_f', {ROWPREFIXFILTER => 'b', FILTER => "ValueFilter(=, 'substring:name')"}
scan 'sm_f', {ROWPREFIXFILTER => 'b', REVERSED => true, LIMIT => 2, COLUMNS => 'f:n'}
scan 'sm_f', {ROWPREFIXFILTER => 'b', STARTROW => 'b2', COLUMNS => 'f:n'}
scan 'sm_f', {STARTROW => 'b3', STOPROW => 'a2', REVERSED => true, COLUMNS => 'f:n'}
scan 'sm_f', {STARTROW => 'b1', STOPROW => 'b1'}
scan 'sm_f', {STARTROW => 'c', STOPROW => 'a'}
scan 'sm_f', {STARTROW => "d\x00", COLUMNS => 'g:raw'}
scan 'sm_f', {TIMERANGE => [20, 23], LIMIT => 5}
scan 'sm_f', {TIMESTAMP => 5}
scan 'sm_f', {TIMERANGE => [5]}
scan 'sm_f', {VERSIONS => 2, COLUMNS => 'f:n', LIMIT => 1}
scan 'sm_f', {VERSIONS => 0}
scan 'sm_f', {COLUMNS => ['f:n', 'f:n'], LIMIT => 1}
scan 'sm_f', {COLUMNS => []}
scan 'sm_f', {COLUMNS => 'g:', STARTROW => 'b'}
scan 'sm_f', {BATCH => 1, LIMIT => 1}
scan 'sm_f', {LIMIT => -1}
scan 'sm_f', {LIMIT => '2', COLUMNS => 'f:n'}
scan 'sm_f', {MAXLENGTH => 0, LIMIT => 1}
scan 'sm_f', {COLUMNS => ['f:n:toInt'], LIMIT => 1}
scan 'sm_f', STARTROW => 'c1', FORMATTER => 'toHex'
get 'sm_f', 'a1', {COLUMN => 'f:n', VERSIONS => 3, TIMERANGE => [0, 10]}
get 'sm_f', 'a1', COLUMNS => ['f:n', 'f:name'], TIMESTAMP => 20
get 'sm_f', 'a1', 'f:n', 'f:name', 'g'
get 'sm_f', 'b1', {FILTER => "ValueFilter(=, 'binary:it''s') OR QualifierFilter(=, 'binary:n')"}
get 'sm_f', 'b1', {COLUMN => 'g', FILTER => "ColumnCountGetFilter(1)"}
get 'sm_f', 'c1', 'g:'
count 'sm_f', INTERVAL => 3, FILTER => "ColumnPrefixFilter('name')"
count 'sm_f', STARTROW => 'b1', STOPROW => 'c1', INTERVAL => 2
count 'sm_f', COLUMNS => ['g'], FILTER => "KeyOnlyFilter()"

# Forms of alter
create 'sm_a', 'f'
alter 'sm_a', {NAME => 'f', VERSIONS => 5}
alter 'sm_a', {NAME => 'f', BLOOMFILTER => 'ROWCOL', BLOCKCACHE => false, IN_MEMORY => true}
alter 'sm_a', {NAME => 'g', COMPRESSION => 'GZ', DATA_BLOCK_ENCODING => 'FAST_DIFF'}, {NAME => 'h', TTL => 3600, MIN_VERSIONS => 1, VERSIONS => 2}
describe 'sm_a'
alter 'sm_a', NAME => 'f', METHOD => 'delete'
alter 'sm_a', 'delete' => 'g'
alter 'sm_a', {NAME => 'i', VERSIONS => 1}, {'delete' => 'h'}
describe 'sm_a'
alter 'sm_a', NAME => 'i', VERSIONS => 'x'
alter 'sm_a', NAME => 'i', TTL => -5
alter 'sm_a', NAME => 'i', MIN_VERSIONS => 3
alter 'sm_a', NAME => 'i', BLOCKSIZE => '32768', CONFIGURATION => {'hbase.x' => 'y'}, METADATA => {'k' => 'v'}
alter 'sm_a', METHOD => 'table_att', MAX_FILESIZE => '134217728', DURABILITY => 'ASYNC_WAL'
alter 'sm_a', METADATA => {'owner' => 'me', 'zone' => 'eu'}
alter 'sm_a', METHOD => 'table_att_unset', NAME => 'owner'
alter 'sm_a', CONFIGURATION => {'hbase.a' => '1'}
alter 'sm_a', METHOD => 'table_conf_unset', NAME => 'hbase.a'
alter 'sm_a', METHOD => 'table_remove_coprocessor'
alter 'sm_a', {'METHOD' => 'delete', 'NAME' => 'nope'}
alter 'sm_a', 'i', 'j', {NAME => 'k', VERSIONS => 4}
describe 'sm_a'
alter 'sm_a', {NAME => 'i', KEEP_DELETED_CELLS => 'TTL'}
alter 'sm_a', {NAME => 'i', KEEP_DELETED_CELLS => 'bogus'}
alter 'sm_a', SPLITS => ['a']
alter_status 'sm_a'
desc 'sm_a'
disable_all 'sm_.*'
drop_all 'sm_.*'
exit
