# Statements for a cluster: snapshots, properties of namespaces, servers and their regions.
create 'shc_t', {NAME => 'f', VERSIONS => 2}, SPLITS => ['m']
put 'shc_t', 'a', 'f:q', 'one', 1
put 'shc_t', 'z', 'f:q', 'two', 2
snapshot 'shc_t', 'shc_s1'
snapshot 'shc_nosuch', 'shc_s3'
list_snapshots 'shc_.*'
list_snapshots 'shc_s1'
list_snapshots 'shc_none'
list_table_snapshots 'shc_t'
list_table_snapshots 'shc_none'
put 'shc_t', 'a', 'f:q', 'changed', 3
clone_snapshot 'shc_s1', 'shc_copy'
clone_snapshot 'shc_s1', 'shc_copy'
clone_snapshot 'shc_none', 'shc_copy2'
scan 'shc_copy'
get_splits 'shc_copy'
describe 'shc_copy'
restore_snapshot 'shc_s1'
restore_snapshot 'shc_none'
disable 'shc_t'
restore_snapshot 'shc_s1'
enable 'shc_t'
scan 'shc_t'
snapshot 'shc_t', 'shc_s2', {SKIP_FLUSH => true}
list_table_snapshots 'shc_t', '.*2'
delete_snapshot 'shc_s2'
delete_snapshot 'shc_s2'
delete_all_snapshot 'shc_none'
delete_all_snapshot 'shc_.*'
delete_table_snapshots 'shc_none'
snapshot 'shc_t', 'shc_s4'
delete_table_snapshots 'shc_t', 'shc_s4'
list_snapshots 'shc_.*'
create_namespace 'shc_ns', {'a' => 'b'}
describe_namespace 'shc_ns'
alter_namespace 'shc_ns', {METHOD => 'set', 'PROPERTY_NAME' => 'PROPERTY_VALUE'}
describe_namespace 'shc_ns'
alter_namespace 'shc_ns', {METHOD => 'unset', NAME => 'a'}
describe_namespace 'shc_ns'
drop_namespace 'shc_ns'
balancer_enabled
balance_switch true
balancer_enabled
list_regions 'shc_t', nil, ['START_KEY', 'END_KEY', 'SIZE']
locate_region 'shc_t', 'm'
split 'shc_t', 'c'
sleep 3
get_splits 'shc_t'
move 'nosuchregion'
merge_region 'a', 'b'
flush 'hbase:meta'
compact 'hbase:meta'
get_splits 'hbase:meta'
locate_region 'hbase:meta', 'a'
move '1588230740'
disable_all 'shc_.*'
drop_all 'shc_.*'
list 'shc_.*'
exit
