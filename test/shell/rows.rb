# Statements on rows, filters and regions, and Ruby, that the real shell and Rowan's answer alike, on both engines.

# Writing and reading
create 'sh_d', {NAME => 'f', VERSIONS => 3}, 'g'
put 'sh_d', 'r1', 'f:a', 'v1', 100
put 'sh_d', 'r1', 'f:a', 'v2', 200
put 'sh_d', 'r1', 'f:b', 'b1', 150
put 'sh_d', 'r1', 'g:x', 'gx', 1000
put 'sh_d', 'r2', 'f:a', 1, 300
put 'sh_d', 5, 'f:a', 2.5, 400
put 'sh_d', 'r3', 'f', 'noq', 500
put 'sh_d', 'r4', 'f:', 'emptyq', 60000
put 'sh_d', 'r5', 'f:a:b', 'colon', 61000
put 'sh_d', "r\x00\xff", 'f:bin', "\x01\x02\xfe", 86400000
put 'sh_d', "umlaut-ä", "f:ü", "größe €", 700
put 'sh_d', 'tab', 'f:a', "x\ty\nz\\", 701
put 'sh_d', :r9, 'f:a', :val, 800
put 'sh_d', 'r6', 'f:ttl', 'x', 5, {TTL => 100000}
put 'sh_d', 'r6', 'f:at', 'x', 4102444800000, {ATTRIBUTES => {'a' => 'b'}}
put 'sh_d', '', 'f:a', 'x'
put 'sh_d', 'r1', 'f:a', 'x', -1
put 'sh_d', 'r1', 'nof:a', 'v'
put 'sh_d', 'r1', 'nocol', 'x'
put 'sh_d', 'r1'
put 'sh_d'
put 'sh_nosuch', 'r', 'f:a', 'v'
put 'sh_nosuch', 'r', 'f:a', 'v', 1
scan 'sh_d'
get 'sh_d', 'r1'
get 'sh_d', 'r1', 'f:a'
get 'sh_d', 'r1', 'f:a', 'g'
get 'sh_d', 'r1', ['f:a', 'g:x']
get 'sh_d', 'r1', 'f'
get 'sh_d', 'r1', 'f:none'
get 'sh_d', 'nope'
get 'sh_d', 5
get 'sh_d', :r9
get 'sh_d', "r\x00\xff"
get 'sh_d', 'umlaut-ä'
get 'sh_d', ''
get 'sh_d'
get 'sh_nosuch', 'r'
get 'sh_d', 'r1', {COLUMN => 'f:a', VERSIONS => 4}
get 'sh_d', 'r1', {COLUMN => ['f:a', 'f:b'], VERSIONS => 4}
get 'sh_d', 'r1', {COLUMNS => ['f'], VERSIONS => 2}
get 'sh_d', 'r1', {COLUMN => 'f:a', TIMESTAMP => 100}
get 'sh_d', 'r1', {TIMESTAMP => 150}
get 'sh_d', 'r1', {TIMERANGE => [0, 160]}
get 'sh_d', 'r1', {TIMERANGE => [100, 201], VERSIONS => 4}
get 'sh_d', 'r1', {COLUMN => 'f:a', TIMERANGE => [0, 101]}
get 'sh_d', 'r1', {VERSIONS => 4}
get 'sh_d', 'r1', {'FOO' => 1}
get 'sh_d', 'r1', {COLUMN => 5}
get 'sh_d', 'r1', {COLUMN => 'nof:a'}
get 'sh_d', 'r1', 5
get 'sh_d', 'r1', {FILTER => "ValueFilter(=, 'binary:v2')"}
get 'sh_d', 'r1', {COLUMN => 'f:a', FORMATTER => 'toString', MAXLENGTH => 5}
get 'sh_d', 'r1', MAXLENGTH => 20
get 'sh_d', 'r1', {COLUMN => 'f:a:toLong'}
get 'sh_d', 'r1', {COLUMN => 'f:a:toHex'}
get 'sh_d', 'r1', {CONSISTENCY => 'STRONG'}
get 'sh_d', 'r5'
get 'sh_d', 'r3'
scan 'sh_d', {COLUMNS => ['f:a', 'g']}
scan 'sh_d', {COLUMNS => 'g:x'}
scan 'sh_d', {COLUMN => 'f:b'}
scan 'sh_d', {COLUMNS => 5}
scan 'sh_d', {COLUMNS => 'nof:x'}
scan 'sh_d', {LIMIT => 2}
scan 'sh_d', {LIMIT => 0}
scan 'sh_d', {STARTROW => 'r2', STOPROW => 'r5'}
scan 'sh_d', {STARTROW => 'r2', ENDROW => 'r3'}
scan 'sh_d', {STARTKEY => 'r9'}
scan 'sh_d', {STARTROW => 'r3', STOPROW => 'r1', REVERSED => true}
scan 'sh_d', {REVERSED => true, LIMIT => 3}
scan 'sh_d', {ROWPREFIXFILTER => 'r'}
scan 'sh_d', {ROWPREFIXFILTER => 'r', LIMIT => 1}
scan 'sh_d', {ROWPREFIXFILTER => "r\x00"}
scan 'sh_d', {ROWPREFIXFILTER => 'zz'}
scan 'sh_d', {TIMESTAMP => 100}
scan 'sh_d', {TIMERANGE => [100, 301]}
scan 'sh_d', {VERSIONS => 3, STOPROW => 'r2'}
scan 'sh_d', {VERSIONS => 3, TIMERANGE => [100, 200], STARTROW => 'r1', STOPROW => 'r2'}
scan 'sh_d', {MAXLENGTH => 12, LIMIT => 2}
scan 'sh_d', {FORMATTER => 'toString', STARTROW => 'r1', STOPROW => 'r4'}
scan 'sh_d', {FORMATTER => 'toHex', STARTROW => 'r1', STOPROW => 'r2'}
scan 'sh_d', {FORMATTER_CLASS => 'org.apache.hadoop.hbase.util.Bytes', FORMATTER => 'toString', LIMIT => 1}
scan 'sh_d', {CACHE => 2, CACHE_BLOCKS => false, BATCH => 1, MAX_RESULT_SIZE => 1000, STARTROW => 'r2', STOPROW => 'r3'}
scan 'sh_d', {CONSISTENCY => 'STRONG', READ_TYPE => 'PREAD', ISOLATION_LEVEL => 'READ_COMMITTED', LIMIT => 1}
scan 'sh_d', {'FOO' => 1, LIMIT => 1}
scan 'sh_d', 'notahash'
scan
scan 'sh_d', {RAW => true, VERSIONS => 10, STARTROW => 'r1', STOPROW => 'r2'}
scan 'sh_d', {RAW => true, COLUMNS => 'f:a'}
scan 'sh_nosuch'
count 'sh_d'
count 'sh_d', 3
count 'sh_d', INTERVAL => 4
count 'sh_d', INTERVAL => 2, CACHE => 1000
count 'sh_d', COLUMNS => 'g'
count 'sh_d', FILTER => "PrefixFilter('r')"
count 'sh_d', STARTROW => 'r2', STOPROW => 'r5', INTERVAL => 1
count 'sh_d', CACHE_BLOCKS => 'maybe'
count 'sh_d', CACHE_BLOCKS => 'false'
count 'sh_nosuch'
incr 'sh_d', 'cnt', 'f:c'
incr 'sh_d', 'cnt', 'f:c', 10
incr 'sh_d', 'cnt', 'f:c', -3
incr 'sh_d', 'cnt', 'f:c', 9223372036854775807
incr 'sh_d', 'cnt', 'f:d', 5, {TTL => 1000000}
incr 'sh_d', 'r1', 'f:a'
incr 'sh_d', 'cnt', 'f:c', 'x'
get_counter 'sh_d', 'cnt', 'f:c'
get_counter 'sh_d', 'cnt', 'f:none'
get_counter 'sh_d', 'r1', 'f:b'
scan 'sh_d', {COLUMNS => ['f:c:toLong', 'f:d:c(org.apache.hadoop.hbase.util.Bytes).toLong'], STARTROW => 'cnt', STOPROW => 'cnu', MAXLENGTH => 9}
append 'sh_d', 'app', 'f:s', 'abc'
append 'sh_d', 'app', 'f:s', "\x00def"
append 'sh_d', 'app', 'f:s', 5, {TTL => 1000000}
append 'sh_d', 'app', 'nof:s', 'x'
append 'sh_d', 'app', 'f:s'
delete 'sh_d', 'r1', 'f:a', 200
get 'sh_d', 'r1', {COLUMN => 'f:a', VERSIONS => 4}
delete 'sh_d', 'r1', 'f:b'
get 'sh_d', 'r1'
delete 'sh_d', 'r1'
delete 'sh_d', '', 'f:a'
delete 'sh_d', 'r1', 'nof:a'
deleteall 'sh_d', 'r1', 'f:a'
get 'sh_d', 'r1'
deleteall 'sh_d', 'r1', 'g', 999
get 'sh_d', 'r1'
deleteall 'sh_d', 'r1', 'g'
get 'sh_d', 'r1'
deleteall 'sh_d', 'r2'
delete 'sh_d', 'r3', '', 500
deleteall 'sh_d', "r\x00\xff"
deleteall 'sh_d', {ROWPREFIXFILTER => 'r'}
scan 'sh_d'
deleteall 'sh_d', {ROWPREFIXFILTER => 'a', CACHE => 1}
deleteall 'sh_d', 'nope'
deleteall 'sh_d', 'nope', 'f:q', 7
deleteall 'sh_nosuch', 'r'
count 'sh_d'
truncate 'sh_d'
scan 'sh_d'
create 'sh_p', 'f', SPLITS => ['m']
put 'sh_p', 'a', 'f:q', 1, 1
put 'sh_p', 'z', 'f:q', 2, 2
truncate_preserve 'sh_p'
count 'sh_p'
get_splits 'sh_p'
truncate 'sh_p'
get_splits 'sh_p'

# The filter language
create 'sh_f', {NAME => 'f', VERSIONS => 3}, 'g'
%w[abc abd b c].each_with_index { |row, i| put 'sh_f', row, 'f:a', "v#{i}", 10 + i; put 'sh_f', row, 'f:ab', "w#{i}", 20 + i; put 'sh_f', row, 'g:z', i, 30 }
put 'sh_f', 'abc', 'f:a', 'old', 5

scan 'sh_f', {FILTER => "PrefixFilter('ab')"}
scan 'sh_f', {FILTER => "PrefixFilter ('ab')"}
scan 'sh_f', {FILTER => " PrefixFilter( 'ab' ) "}
scan 'sh_f', {FILTER => "RowFilter(=, 'binary:b')"}
scan 'sh_f', {FILTER => "RowFilter(>=, 'binary:abd')"}
scan 'sh_f', {FILTER => "RowFilter(<, 'binary:abd')"}
scan 'sh_f', {FILTER => "RowFilter(<=, 'binary:abd')"}
scan 'sh_f', {FILTER => "RowFilter(>, 'binary:b')"}
scan 'sh_f', {FILTER => "RowFilter(!=, 'binary:b')"}
scan 'sh_f', {FILTER => "RowFilter(=, 'regexstring:^ab[cd]$')"}
scan 'sh_f', {FILTER => "RowFilter(=, 'substring:B')"}
scan 'sh_f', {FILTER => "RowFilter(!=, 'substring:b')"}
scan 'sh_f', {FILTER => "RowFilter(=, 'binaryprefix:ab')"}
scan 'sh_f', {FILTER => "FamilyFilter(=, 'binary:g')"}
scan 'sh_f', {FILTER => "FamilyFilter(!=, 'binary:g')"}
scan 'sh_f', {FILTER => "QualifierFilter(=, 'binary:ab')"}
scan 'sh_f', {FILTER => "QualifierFilter(>, 'binary:a')"}
scan 'sh_f', {FILTER => "ValueFilter(=, 'binary:v1')"}
scan 'sh_f', {FILTER => "ValueFilter(=, 'regexstring:[vw]2')"}
scan 'sh_f', {FILTER => "ValueFilter(=, 'substring:V')"}
scan 'sh_f', {FILTER => "ValueFilter(>=, 'binary:w')"}
scan 'sh_f', {FILTER => "ValueFilter(=, 'binary:it''s')"}
scan 'sh_f', {FILTER => "KeyOnlyFilter()"}
scan 'sh_f', {FILTER => "KeyOnlyFilter(true)"}
scan 'sh_f', {FILTER => "FirstKeyOnlyFilter()"}
scan 'sh_f', {FILTER => "ColumnPrefixFilter('ab')"}
scan 'sh_f', {FILTER => "MultipleColumnPrefixFilter('ab', 'z')"}
scan 'sh_f', {FILTER => "ColumnCountGetFilter(1)"}
scan 'sh_f', {FILTER => "PageFilter(2)"}
scan 'sh_f', {FILTER => "ColumnPaginationFilter(1, 1)"}
scan 'sh_f', {FILTER => "ColumnPaginationFilter(2, 0)"}
scan 'sh_f', {FILTER => "InclusiveStopFilter('abd')"}
scan 'sh_f', {FILTER => "TimestampsFilter(10, 21, 30)"}
scan 'sh_f', {FILTER => "TimestampsFilter(5)"}
scan 'sh_f', {FILTER => "ColumnRangeFilter('a', true, 'ab', false)"}
scan 'sh_f', {FILTER => "ColumnRangeFilter('a', false, 'z', true)"}
scan 'sh_f', {FILTER => "ColumnRangeFilter('', true, 'a', true)"}
scan 'sh_f', {FILTER => "SingleColumnValueFilter('f', 'a', =, 'binary:v1')"}
scan 'sh_f', {FILTER => "SingleColumnValueFilter('f', 'a', !=, 'binary:v1')"}
scan 'sh_f', {FILTER => "SingleColumnValueFilter('f', 'none', =, 'binary:v1')"}
scan 'sh_f', {FILTER => "SingleColumnValueFilter('f', 'none', =, 'binary:v1', true, true)"}
scan 'sh_f', {FILTER => "SingleColumnValueFilter('f', 'a', =, 'binary:old', true, false)"}
scan 'sh_f', {FILTER => "SingleColumnValueExcludeFilter('f', 'a', =, 'binary:v1')"}
scan 'sh_f', {FILTER => "SingleColumnValueExcludeFilter('f', 'a', >, 'binary:v1', true, true)"}
scan 'sh_f', {FILTER => "ColumnValueFilter('f', 'a', =, 'binary:v1')"}
scan 'sh_f', {FILTER => "DependentColumnFilter('g', 'z')"}
scan 'sh_f', {FILTER => "DependentColumnFilter('f', 'a', true)"}
scan 'sh_f', {FILTER => "DependentColumnFilter('f', 'a', false, =, 'binary:v1')"}
scan 'sh_f', {FILTER => "PrefixFilter('ab') AND QualifierFilter(=, 'binary:a')"}
scan 'sh_f', {FILTER => "PrefixFilter('abc') OR PrefixFilter('c')"}
scan 'sh_f', {FILTER => "(PrefixFilter('ab') OR PrefixFilter('c')) AND FamilyFilter(=, 'binary:g')"}
scan 'sh_f', {FILTER => "PrefixFilter('c') OR PrefixFilter('ab') AND FamilyFilter(=, 'binary:g')"}
scan 'sh_f', {FILTER => "SKIP ValueFilter(!=, 'binary:v1')"}
scan 'sh_f', {FILTER => "WHILE RowFilter(!=, 'binary:b')"}
scan 'sh_f', {FILTER => "WHILE ValueFilter(!=, 'binary:v1') AND KeyOnlyFilter()"}
scan 'sh_f', {FILTER => "((PrefixFilter('b')))"}
scan 'sh_f', {FILTER => "PrefixFilter('b') AND (ValueFilter(=, 'binary:v2') OR (SKIP FamilyFilter(=, 'binary:g')))"}
scan 'sh_f', {FILTER => "PrefixFilter(r"}
scan 'sh_f', {FILTER => "Foo('x')"}
scan 'sh_f', {FILTER => "prefixfilter('x')"}
scan 'sh_f', {FILTER => "PrefixFilter()"}
scan 'sh_f', {FILTER => "PrefixFilter('a', 'b')"}
scan 'sh_f', {FILTER => "PrefixFilter('a') AND"}
scan 'sh_f', {FILTER => "AND PrefixFilter('a')"}
scan 'sh_f', {FILTER => "PrefixFilter('r') PageFilter(1)"}
scan 'sh_f', {FILTER => "(PrefixFilter('b')"}
scan 'sh_f', {FILTER => "ValueFilter(<>, 'binary:x')"}
scan 'sh_f', {FILTER => "ValueFilter(=, 'foo:x')"}
scan 'sh_f', {FILTER => "ValueFilter(=, 'x')"}
scan 'sh_f', {FILTER => "ValueFilter(<, 'substring:x')"}
scan 'sh_f', {FILTER => "PageFilter('a')"}
scan 'sh_f', {FILTER => "PageFilter(x)"}
scan 'sh_f', {FILTER => "KeyOnlyFilter(2)"}
scan 'sh_f', {FILTER => "ColumnRangeFilter('a', tru, 'b', true)"}
scan 'sh_f', {FILTER => "SingleColumnValueFilter('f', 'a', =)"}
scan 'sh_f', {FILTER => ""}
scan 'sh_f', {FILTER => 'PrefixFilter (\'ab\') AND (FirstKeyOnlyFilter())'}
scan 'sh_f', {COLUMNS => ['f'], FILTER => "(PrefixFilter ('ab') AND (QualifierFilter (>=, 'binary:a'))) AND (TimestampsFilter ( 10, 20))"}
scan 'sh_f', {FILTER => "PrefixFilter('ab')", REVERSED => true}
get 'sh_f', 'abc', {COLUMN => 'f:a', VERSIONS => 3, FILTER => "TimestampsFilter(5)"}
get 'sh_f', 'abc', {FILTER => "ColumnPrefixFilter('ab')"}
get 'sh_f', 'abc', {FILTER => "Foo()"}
count 'sh_f', FILTER => "ValueFilter(=, 'binary:v1')"

# Regions
create 'sh_r', 'f', SPLITS => ['g', 'p']
(1..9).each { |i| put 'sh_r', "k#{i}", 'f:q', i, i }
split 'sh_r', ''
split 'sh_nosuch'
flush 'sh_r'
flush 'sh_r', 'f'
flush 'sh_r', 'nof'
flush 'sh_nosuch'
compact 'sh_nosuch'
compact 'sh_r', 'f', 'FOO'
major_compact 'sh_nosuch'
scan 'sh_r', {LIMIT => 3}
count 'sh_r'
list_regions 'sh_nosuch'
list_regions 'sh_r', nil, ['START_KEY', 'END_KEY']
list_regions 'sh_r', {}, ['END_KEY']
list_regions 'sh_r', nil, ['FOO']
list_regions 'sh_r', nil, 5
list_regions 'sh_r', {LOCALITY_THRESHOLD => 5}
list_regions 'sh_r', {LOCALITY_THRESHOLD => 1.5}
locate_region 'sh_nosuch', 'x'
merge_region 'a'
close_region 'a'

# Ruby
x = 5
y = 'abc' + x.to_s
y
x += 1
"a\tb\"c#{1 + x}é\x00"
'single #{x} \n \'q\''
:sym
1.5
nil
nil.to_s
true
(1..3)
[nil, true, :a, 1.0]
{:a => 'b', 'c' => [1]}
undefined_thing
FOO
scan 'sh_r', {FOO => 1}
NAME
ENDROW
1 +
2
puts 'x' if 1 == 1
puts 'x' unless 1 == 1
3.times { |i| put 'sh_r', "row#{i}", 'f:a', "v#{i}", i + 1 }
scan 'sh_r', {STARTROW => 'row'}
(1..3).each do |i|
  put 'sh_r', "l#{i}", 'f:a', i, i
end
if true
  puts 'yes'
else
  puts 'no'
end
begin
  get 'sh_nosuch', 'x'
rescue => e
  puts "caught #{e}"
end
x = [1, 2, 3].map { |n| n * 2 }
unless x.empty? then puts x.join(',') end
puts [1, [2, 3]], nil
print 'a', 'b', "\n"
p 'a'
format('%05d|%-5s|%x', 3, 'ab', 255)
for n in [1, 2]
  puts n
end
i = 0
while i < 2
  puts i
  i += 1
end
['a', 'b'].each_with_index { |each, index| puts "#{index} #{each}" }
'abc'.upcase
'a,b'.split(',')
'abc'[0, 2]
'x' * 3
7 / 2
-7 / 2
-7 % 3
2 ** 70
1 <= 2 && 'a' != 'b'
x.length > 2 ? 'long' : 'short'
scan 'sh_r', {COLUMNS => 'f:a',
  # a comment in between
  STARTROW => 'l2',

  LIMIT => 2}
t = create 'sh_w', 'f'
t.put 'r', 'f:a', 'b', 1
t.get 'r'
t.get 'r', 'f:a'
t.scan 'STARTROW' => 'r'
t.count
t.delete 'r', 'f:a', 1
t.scan
t.name
t.describe
t.disable
t.enable
t.flush
t.bogus
puts t
u = get_table 'sh_w'
u.incr 'c', 'f:n', 5
u.get_counter 'c', 'f:n'
u.append 'c', 'f:s', 'x'
u.deleteall 'c'
u.get_splits
get_table('sh_w').scan
scan('sh_w', LIMIT => 1)
scan 'sh_w', LIMIT => 1, VERSIONS => 2; count 'sh_w'
get_table 'sh_r'
tables = list('sh_w')
tables.each { |each| puts each }
get_splits('sh_r').length
disable_all 'sh_.*'
drop_all 'sh_.*'
list 'sh_.*'
exit
