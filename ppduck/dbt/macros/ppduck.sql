{#- Written by `ppduck dbt init`, which writes it anew; do not edit. Needs the plugin ppduck.dbt in profiles.yml.

    {{ ppduck_mask(ref('stg_customers')) }}   the model's masking rule, carried out: meta.ppduck of the model and its columns
    {{ ppduck_release_table(ref('stg_customers')) }}   a whole table by the policy that the metas of the model's columns and its own say
    {{ ppduck_comment() }}                    for post-hook: the manifest of such a release, as the comment of what is built
    {{ ppduck_check_rules() }}                for on-run-start: every rule is checked before the first model is built
    ppduck_release                            generic test: fails when a release leaks or has lost its moments
-#}

{% macro ppduck_mask(relation) -%}
  {%- if execute -%}
    {%- set source = ppduck_source(relation) -%}
    {%- set answer = ppduck_ask('mask', {'node': ppduck_node(model), 'source': source, 'call': kwargs}) -%}
    {%- if relation is not string and relation.limit == 0 -%}
      {{- answer['empty'] }} from {{ relation }}  {#- dbt build --empty: there are no rows, and no mask can do without -#}
    {%- else -%}
      {{- answer['sql'] -}}
    {%- endif -%}
  {%- else -%}
    {#- For the check at the start, the gate and `ppduck dbt rules`. Arguments are told as texts, for they may be of any
        kind; the key differs by call, for dbt keeps the last of equal ones. -#}
    {%- set told = {} -%}
    {%- for name, value in kwargs.items() -%}
      {%- do told.update({name: [value] | string}) -%}
    {%- endfor -%}
    {%- set call = {'arguments': told, 'over_text': relation is string} -%}
    {%- do config(meta={'ppduck_call_' ~ local_md5(call | string)[:8]: call}) -%}
    select 1 as not_yet
  {%- endif -%}
{%- endmacro %}


{% macro ppduck_release_table(relation) -%}
  {%- if execute -%}
    {%- set request = {'node': ppduck_node(model), 'source': ppduck_source(relation), 'newest': none, 'comment': none} -%}
    {%- set answer = ppduck_ask('release_table', request) -%}
    {%- if answer['batch'] is not none -%}  {# of an incremental model #}
      {%- if is_incremental() -%}
        {%- set newest = 'select max(' ~ adapter.quote(answer['batch']) ~ ')::varchar from ' ~ this -%}
        {%- do request.update({'newest': run_query(newest).rows[0][0], 'comment': ppduck_comment_of(this)}) -%}
        {%- set answer = ppduck_ask('release_table', request) -%}
      {%- endif -%}
      {%- if flags.WHICH in ('build', 'run') and not flags.EMPTY and run_query(answer['rows']).rows[0][0] > 0 -%}
        {%- do ppduck_refuse_failures(model.name, answer['gate']) -%}
      {%- endif -%}
    {%- endif -%}
    {%- if relation is not string and relation.limit == 0 -%}
      {{- answer['empty'] }} from {{ relation }}  {#- dbt build --empty, as above #}
    {%- else -%}
      {{- answer['sql'] -}}
    {%- endif -%}
  {%- else -%}
    {%- set call = {'over_text': relation is string} -%}
    {%- do config(meta={'ppduck_release_' ~ local_md5(relation | string)[:8]: call}) -%}
    select 1 as not_yet
  {%- endif -%}
{%- endmacro %}


{% macro ppduck_comment() -%}
  {%- if execute and not flags.EMPTY -%}
    {%- set request = {'node': ppduck_node(model), 'made_of': ppduck_made_of(model)} -%}
    {%- set manifest = run_query(ppduck_ask('comment', request)['sql']).rows[0][0] -%}
    {%- set kind = 'view' if model.config.materialized in ('view', 'external') else 'table' -%}
    comment on {{ kind }} {{ this }} is {{ ppduck_quoted(manifest) }}
  {%- endif -%}
{%- endmacro %}


{% macro ppduck_comment_of(relation) -%}
  {%- set asked -%}
    select "comment" from system.main.duckdb_tables() where database_name = {{ ppduck_quoted(relation.database) }}
      and schema_name = {{ ppduck_quoted(relation.schema) }} and table_name = {{ ppduck_quoted(relation.identifier) }}
  {%- endset -%}
  {%- set found = run_query(asked).rows -%}
  {%- do return(found[0][0] if found else none) -%}
{%- endmacro %}


{% macro ppduck_check_rules() -%}
  {%- if execute and flags.WHICH in ('build', 'run', 'snapshot') -%}
    {%- set ids = [] -%}
    {%- for id, node in graph.nodes.items() if node.resource_type in ('model', 'snapshot') and ppduck_has_rule(node) -%}
      {%- do ids.append(id) -%}
    {%- endfor -%}
    {%- set nodes = {} -%}
    {%- for id in ids -%}  {# grows while it is walked: a model, then what it is made of #}
      {%- set node = graph.nodes.get(id) or graph.sources.get(id) -%}
      {%- if node and id not in nodes -%}
        {%- set told = ppduck_node(node) -%}
        {%- if id not in selected_resources -%}
          {%- set there = adapter.get_relation(node.database, node.schema, node.get('alias') or node.get('identifier')) -%}
          {%- set columns = [] -%}
          {%- for column in (adapter.get_columns_in_relation(there) if there else []) -%}
            {%- do columns.append([column.name, column.dtype]) -%}
          {%- endfor -%}
          {%- do told.update({'columns_in_database': columns}) -%}
        {%- endif -%}
        {%- do nodes.update({id: told}) -%}
        {%- do ids.extend(told.depends_on.nodes) -%}
      {%- endif -%}
    {%- endfor -%}
    {%- for warning in ppduck_ask('check', {'nodes': nodes, 'selected': selected_resources | list})['warnings'] -%}
      {%- do exceptions.warn('ppduck: ' ~ warning) -%}
    {%- endfor -%}
  {%- endif -%}
{%- endmacro %}


{% test ppduck_release(model, column_name=none, original=none, key=none, conf=none, nonconf=none, limits=none, moments=none, tolerance=none,
                       keep=none, qi=none, p=none, matrix=none, levels=none, pseudonyms=none) %}
  {%- if execute -%}
    {%- set node = graph.nodes.get(context['model'].attached_node) -%}
    {%- if not node or column_name -%}
      {%- do exceptions.raise_compiler_error('ppduck_release goes under data_tests of a model that is released, not of '
          ~ ('its column "' ~ column_name ~ '"; name columns by conf' if column_name else 'a source') ~ '.') -%}
    {%- endif -%}
    {%- set given = {'key': key, 'conf': conf, 'nonconf': nonconf, 'limits': limits, 'moments': moments,
                     'tolerance': tolerance, 'keep': keep, 'qi': qi, 'p': p, 'matrix': matrix, 'levels': levels,
                     'pseudonyms': pseudonyms, 'original': original | string if original is not none else none} -%}
    {%- set request = {'node': ppduck_node(node), 'given': given, 'masked': model | string,
                       'made_of': ppduck_made_of(node)} -%}
    {%- set answer = ppduck_ask('release', request) -%}
    {%- if flags.EMPTY -%}
      select null as rule where false
    {%- elif flags.WHICH in ('build', 'test') -%}
      {%- do request.update({'columns': ppduck_columns_of(answer['release'])}) -%}  {# which is there now #}
      {%- if answer['original'] -%}
        {%- do request.update({'original_columns': ppduck_columns_of(answer['original'])}) -%}
      {%- endif -%}
      {{- ppduck_told_failures(node.name, ppduck_ask('release', request)['sql']) -}}
    {%- else -%}
      {{- answer['sql'] -}}
    {%- endif -%}
  {%- else -%}
    select 1 as not_yet
  {%- endif -%}
{% endtest %}


{% macro ppduck_columns_of(table) -%}
  {%- set columns = [] -%}
  {%- for row in run_query('describe select * from ' ~ table).rows -%}
    {%- do columns.append(row[0]) -%}
  {%- endfor -%}
  {%- do return(columns) -%}
{%- endmacro %}


{#- Runs a release check once, says which rules fail, and gives them. -#}
{% macro ppduck_failures(name, statement) -%}
  {%- set found = run_query('select rule, column_name, at_most::varchar, "value"::varchar, why from (' ~ statement ~ ')') -%}
  {%- for rule, column, limit, value, why in found.rows -%}
    {%- set of = '' if column is none else ' of ' ~ column -%}
    {%- set said = 'is ' ~ value ~ ', above its limit of ' ~ limit if value is not none else 'could not be measured' -%}
    {%- do log('ppduck_release on "' ~ name ~ '": ' ~ rule ~ of ~ ' ' ~ said ~ ': ' ~ why, info=true) -%}
  {%- endfor -%}
  {%- do return(found.rows) -%}
{%- endmacro %}


{#- The same as rows for dbt to count and store. -#}
{% macro ppduck_told_failures(name, statement) -%}
  {%- set rows = [] -%}
  {%- for rule, column, limit, value, why in ppduck_failures(name, statement) -%}
    {%- do rows.append('(' ~ ppduck_quoted(rule) ~ ', ' ~ ppduck_quoted(column) ~ ', ' ~ ppduck_quoted(limit) ~ '::double, '
                       ~ ppduck_quoted(value) ~ '::double, ' ~ ppduck_quoted(why) ~ ')') -%}
  {%- endfor -%}
  {%- set none_failed = '(null::varchar, null::varchar, null::double, null::double, null::varchar)' -%}
  select * from (values {{ rows | join(', ') if rows else none_failed }})
    as failed(rule, column_name, at_most, "value", why)
  {%- if not rows %} where false{% endif -%}
{%- endmacro %}


{% macro ppduck_refuse_failures(name, statement) -%}
  {%- set failed = ppduck_failures(name, statement) -%}
  {%- if failed | length > 0 -%}
    {%- do exceptions.raise_compiler_error('ppduck_release on "' ~ name ~ '": ' ~ failed | length
        ~ ' rules fail (above), and nothing was added.') -%}
  {%- endif -%}
{%- endmacro %}


{% macro ppduck_ask(task, request) -%}
  {%- if run_query("select 1 from system.main.duckdb_functions() where database_name = 'system' and function_name = 'ppduck_dbt'").rows | length == 0 -%}
    {%- do exceptions.raise_compiler_error(
        'ppduck is not loaded: add "plugins: [{module: ppduck.dbt}]" to output "' ~ target.name ~ '" in profiles.yml.') -%}
  {%- endif -%}
  {%- set asked = "select system.main.ppduck_dbt('" ~ task ~ "', " ~ ppduck_quoted(tojson(request)) ~ ")" -%}
  {%- set answer = fromjson(run_query(asked).rows[0][0]) -%}
  {%- if answer.error -%}
    {%- do exceptions.raise_compiler_error(answer.error) -%}
  {%- endif -%}
  {%- do return(answer) -%}
{%- endmacro %}


{#- What Python needs to know of a node. -#}
{% macro ppduck_node(node) -%}
  {%- set columns = {} -%}
  {%- for name, column in (node.get('columns') or {}).items() -%}
    {%- do columns.update({name: {'meta': column.get('meta'), 'config': {'meta': (column.get('config') or {}).get('meta')}}}) -%}
  {%- endfor -%}
  {%- set depends = node.get('depends_on') or {} -%}
  {%- do return({
      'name': node.name, 'resource_type': node.resource_type | string, 'raw_code': node.get('raw_code'),
      'root_path': node.get('root_path'), 'original_file_path': node.get('original_file_path'),
      'meta': node.get('meta'), 'relation_name': node.get('relation_name'),
      'config': {'meta': node.config.get('meta'), 'delimiter': node.config.get('delimiter'),
                 'materialized': node.config.get('materialized')},
      'columns': columns, 'depends_on': {'nodes': depends.get('nodes') or [], 'macros': depends.get('macros') or []},
  }) -%}
{%- endmacro %}


{#- The same of all that a model is made of, by dbt's ids. -#}
{% macro ppduck_made_of(node) -%}
  {%- set found = {} -%}
  {%- for id in node.depends_on.nodes -%}
    {%- do found.update({id: ppduck_node(graph.nodes.get(id) or graph.sources.get(id))}) -%}
  {%- endfor -%}
  {%- do return(found) -%}
{%- endmacro %}


{% macro ppduck_has_rule(node) -%}
  {%- set found = [] -%}
  {%- for each in [node] + ((node.get('columns') or {}).values() | list) -%}
    {%- set metas = [each.get('meta'), (each.get('config') or {}).get('meta')] -%}
    {%- for key in (metas[0] or {}) | list + (metas[1] or {}) | list if key == 'ppduck' or (key | string).startswith(('ppduck_call_', 'ppduck_release_')) -%}
      {%- do found.append(true) -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- do return(found | length > 0) -%}
{%- endmacro %}


{#- What is masked, as Python needs to know it: its columns, where it is there already. -#}
{% macro ppduck_source(relation) -%}
  {%- set columns = [] -%}
  {%- if relation is string -%}
    {%- set source = {'name': relation, 'table': relation, 'is_cte': false} -%}
  {%- elif relation.external -%}
    {%- set source = {'name': relation.identifier, 'table': '(from ' ~ relation ~ ')', 'is_cte': false} -%}
  {%- else -%}
    {%- set source = {'name': relation.identifier, 'table': relation | string, 'is_cte': relation.is_cte} -%}
    {%- set there = none if relation.is_cte else load_relation(relation) -%}
    {%- for column in (adapter.get_columns_in_relation(there) if there else []) -%}
      {%- do columns.append(column.name) -%}
    {%- endfor -%}
  {%- endif -%}
  {%- do source.update({'columns': columns}) -%}
  {%- do return(source) -%}
{%- endmacro %}


{% macro ppduck_quoted(text) -%}
  {%- do return("null" if text is none else "'" ~ (text | string | replace("'", "''")) ~ "'") -%}
{%- endmacro %}
