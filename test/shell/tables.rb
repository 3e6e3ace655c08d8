# Statements on tables and namespaces that the real shell and Rowan's answer alike, on both engines.

# The examples of the HBase book's notes
create 'sh_bar', 'fam'
create 'sh_emp', 'personal', 'professional'
put 'sh_emp', 'row1', 'personal:name', 'raju', 1418051555
put 'sh_emp', 'row1', 'personal:city', 'Hyderabad', 1418275907
put 'sh_emp', 'row1', 'professional:designation', 'manager', 14180555
put 'sh_emp', 'row1', 'professional:salary', '50000', 1418035791
get 'sh_emp', 'row1'
get 'sh_emp', 'row1', {COLUMN=>'personal:name'}
scan 'sh_emp'
put 'sh_emp','row1','personal:city','Delhi', 1418275908
scan 'sh_emp'
delete 'sh_emp', 'row1', 'personal:city',
1418275908
get 'sh_emp', 'row1'
deleteall 'sh_emp','row1'
scan 'sh_emp'
create 'sh_t1', 'f1', 'f2'
alter 'sh_t1', NAME => 'f1', VERSIONS => 5
alter'sh_t1', NAME =>'f1', MIN_VERSIONS => 2
alter 'sh_t1', NAME => 'f1', KEEP_DELETED_CELLS => true
describe 'sh_t1'
create 'sh_c', 'f'
incr 'sh_c', 'r', 'f:q', 1
scan 'sh_c', {COLUMNS => 'f:q:toLong', MAXLENGTH => 9}
create 'sh_test', {NAME=>'e', VERSIONS=>2147483647}
put 'sh_test', 'r1', 'e:c1', 'value', 10
put 'sh_test', 'r1', 'e:c1', 'value', 12
put 'sh_test', 'r1', 'e:c1', 'value', 14
delete 'sh_test', 'r1', 'e:c1',  11
scan 'sh_test', {RAW=>true, VERSIONS=>1000}
flush 'sh_test'
scan 'sh_test', {RAW=>true, VERSIONS=>1000}
create 'sh_kept', {NAME=>'e', VERSIONS=>2147483647, KEEP_DELETED_CELLS => true}
put 'sh_kept', 'r1', 'e:c1', 'value', 10
put 'sh_kept', 'r1', 'e:c1', 'value', 12
put 'sh_kept', 'r1', 'e:c1', 'value', 14
delete 'sh_kept', 'r1', 'e:c1',  11
scan 'sh_kept', {RAW=>true, VERSIONS=>1000}
flush 'sh_kept'
scan 'sh_kept', {RAW=>true, VERSIONS=>1000}
get 'sh_test', 'FixedWidthUserName\x00\x00\x00\x00'
create 'sh_table', {NAME => 't', COMPRESSION => 'GZ'}, {NAME => 'p'}
create 'sh_salt', 'f',SPLITS => ['b','c','d']
get_splits 'sh_salt'
create 'sh_hash', 'f', { NUMREGIONS => 4, SPLITALGO => 'HexStringSplit' }
get_splits 'sh_hash'
create 'sh_reverse', 'f',SPLITS => ['0','1','2','3','4','5','6','7','8','9']
get_splits 'sh_reverse'
create 'sh_colfml',{NAME=>'colfml',VERSIONS=>1,TTL=>'18000'}
describe 'sh_colfml'

# Tables: options
create 'sh_o', {NAME => 'f', VERSIONS => '5', MIN_VERSIONS => 2, TTL => '1 DAY 2 HOURS', COMPRESSION => 'gz', BLOOMFILTER => 'rowcol', DATA_BLOCK_ENCODING => 'FAST_DIFF', IN_MEMORY => 'true', BLOCKCACHE => false, BLOCKSIZE => '8192', KEEP_DELETED_CELLS => 'ttl', NEW_VERSION_BEHAVIOR => true, REPLICATION_SCOPE => 1, CACHE_DATA_ON_WRITE => true, PREFETCH_BLOCKS_ON_OPEN => true, METADATA => {'a' => 'b'}, CONFIGURATION => {'hbase.hstore.compaction.min' => 4}, 'WHAT' => 1}, {NAME => 'g', NEW_VERSION_BEHAVIOR => true}, {NAME => 'h', TTL => 93784}, {MAX_FILESIZE => 5368709120, MEMSTORE_FLUSHSIZE => '67108864', READONLY => false, DURABILITY => 'ASYNC_WAL', SPLIT_POLICY => 'org.apache.hadoop.hbase.regionserver.ConstantSizeRegionSplitPolicy', METADATA => {'m' => 1}, CONFIGURATION => {'hbase.x' => 'y'}, 'XX' => 3, SPLIT_ENABLED => false, COMPACTION_ENABLED => 'false', MERGE_ENABLED => true, PRIORITY => 5}
describe 'sh_o'
desc 'sh_o'
create 'sh_o2', 'f', 'f', name: 'x', 'NAME': 'y'
create 'sh_o3', 'f', NUMREGIONS => 5, SPLITALGO => 'DecimalStringSplit'
get_splits 'sh_o3'
create 'sh_o4', 'f', {NUMREGIONS => 3, SPLITALGO => 'UniformSplit'}
get_splits 'sh_o4'
create 'sh_o5', 'f', SPLITS => ['10', '20', "\\x80"]
create 'sh_o6', 'f', {SPLITS => ['b', 'a']}
get_splits 'sh_o6'
create 'sh_x', 'f', NUMREGIONS => 4
create 'sh_x', 'f', SPLITALGO => 'HexStringSplit'
create 'sh_x', 'f', NUMREGIONS => 1, SPLITALGO => 'HexStringSplit'
create 'sh_x', 'f', SPLITS_FILE => '/no/such/file'
create 'sh_x', {NAME => 'f', TTL => 'x'}
create 'sh_x', {NAME => 'f', VERSIONS => 0}
create 'sh_x', {NAME => 'f', MIN_VERSIONS => 5}
create 'sh_x', {NAME => 'f', DATA_BLOCK_ENCODING => 'fast_diff'}
create 'sh_x', {NAME => 'f', KEEP_DELETED_CELLS => 'nope'}
create 'sh_x', {NAME => 'f:', VERSIONS => 1}
create 'sh_x', 5
create 'sh_x', :f
create 5, 'f'
create 'sh_x'
create
create 'sh_x', []
create 'sh_x', 'f', METHOD => 'x'
create 'bad name', 'f'
create 'sh_nosuchns:t', 'f'
create 'sh_bar', 'f'
exists 'sh_x'
exists 'sh_bar'
exists
alter 'sh_o3', {NAME => 'f', VERSIONS => 7, TTL => 'FOREVER'}, {NAME => 'n2'}, MAX_FILESIZE => '134217728', METADATA => {'z' => 'w'}
describe 'sh_o3'
alter 'sh_o3', 'n3'
alter 'sh_o3'
alter 'sh_nosuch', 'f'
alter 'sh_o3', METHOD => 'foo'
alter 'sh_o3', METHOD => 'delete', NAME => 'n2'
alter 'sh_o3', METHOD => 'delete'
alter 'sh_o3', 'delete' => 'n3'
alter 'sh_o3', METHOD => 'table_att_unset', NAME => 'zzz'
alter 'sh_o3', METHOD => 'table_conf_unset', NAME => 'zzz'
alter 'sh_o3', METHOD => 'table_att_unset', NAME => ['MAX_FILESIZE', 'z']
alter 'sh_o3', METHOD => 'table_att', READONLY => true
put 'sh_o3', 'r', 'f:a', 'v'
alter 'sh_o3', READONLY => false
alter 'sh_o3', {NAME => 'f', 'BAR' => 3}, 'BAZ' => 4
alter_async 'sh_o3', {NAME => 'f', VERSIONS => 2, COMPRESSION => 'none', BLOCKSIZE => 131072}
describe 'sh_o3'
alter 'sh_o3', {NAME => 'f', TTL => '2 HOURS 5 SECONDS'}
alter 'sh_o3', CONFIGURATION => {'hbase.a' => 'b', 'hbase.c' => 5}
alter 'sh_o3', MEMSTORE_FLUSHSIZE => 134217728, DURABILITY => 'SKIP_WAL'
describe 'sh_o3'
alter_status 'sh_o3'
alter_status 'sh_nosuch'
clone_table_schema 'sh_o3', 'sh_clone'
describe 'sh_clone'
get_splits 'sh_clone'
clone_table_schema 'sh_o3', 'sh_clone2', false
get_splits 'sh_clone2'
clone_table_schema 'sh_nosuch', 'sh_clone3'
clone_table_schema 'sh_o3', 'sh_clone'

# Tables: states
is_enabled 'sh_clone'
is_disabled 'sh_clone'
disable 'sh_clone'
disable 'sh_clone'
is_enabled 'sh_clone'
is_disabled 'sh_clone'
describe 'sh_clone'
put 'sh_clone', 'r', 'f:q', 'v', 1
get 'sh_clone', 'r'
scan 'sh_clone'
count 'sh_clone'
delete 'sh_clone', 'r', 'f:q'
incr 'sh_clone', 'r', 'f:q'
append 'sh_clone', 'r', 'f:q', 'x'
flush 'sh_clone'
list_regions 'sh_clone'
enable 'sh_clone'
enable 'sh_clone'
is_enabled 'sh_clone'
drop 'sh_clone'
disable 'sh_clone'
drop 'sh_clone'
drop 'sh_clone'
disable 'sh_clone'
enable 'sh_clone'
describe 'sh_clone'
desc 'sh_clone'
is_enabled 'sh_clone'
is_disabled 'sh_clone'
truncate 'sh_clone'
truncate_preserve 'sh_clone'
list 'sh_o.*'
list 'sh_none.*'
list 'sh_O.*'
list_namespace 'sh_none'
disable_all 'sh_zzz.*'
enable_all 'sh_zzz.*'
drop_all 'sh_zzz.*'
disable_all 'sh_o[24]'
list 'sh_o[24]'
is_disabled 'sh_o2'
enable_all 'sh_o[24]'
is_disabled 'sh_o2'

# Namespaces
create_namespace 'sh_ns'
create_namespace 'sh_ns'
list_namespace 'sh_ns.*'
describe_namespace 'sh_ns'
create 'sh_ns:my_table', 'fam'
create 'sh_ns:other', 'fam', {NAME => 'g', VERSIONS => 2}
list_namespace_tables 'sh_ns'
list 'sh_ns:.*'
describe 'sh_ns:other'
put 'sh_ns:other', 'r', 'g:q', 'v', 1
scan 'sh_ns:other'
drop_namespace 'sh_ns'
disable 'sh_ns:my_table'
drop 'sh_ns:my_table'
disable 'sh_ns:other'
drop 'sh_ns:other'
list_namespace_tables 'sh_ns'
drop_namespace 'sh_ns'
drop_namespace 'sh_ns'
describe_namespace 'sh_ns'
list_namespace_tables 'sh_ns'

disable_all 'sh_.*'
drop_all 'sh_.*'
list 'sh_.*'
exit
