{#- Written by `ppduck dbt init`, which writes it anew; do not edit. Needs the plugin ppduck.dbt in profiles.yml.

    {{ ppduck_mask(ref('stg_customers')) }}   the model's masking rule, carried out: meta.ppduck of the model and its columns
    {{ ppduck_check_rules() }}                for on-run-start: every rule is checked before the first model is built
    ppduck_release                            generic test: fails when a release leaks or has lost its moments
-#}

{% macro ppduck_mask(relation) -%}
  {%- if execute -%}
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
                       keep=none, qi=none, p=none, matrix=none, levels=none) %}
  {%- if execute -%}
    {%- set node = graph.nodes.get(context['model'].attached_node) -%}
    {%- if not node or column_name -%}
      {%- do exceptions.raise_compiler_error('ppduck_release goes under data_tests of a model that is released, not of '
          ~ ('its column "' ~ column_name ~ '"; name columns by conf' if column_name else 'a source') ~ '.') -%}
    {%- endif -%}
    {%- set made_of = {} -%}
    {%- for id in node.depends_on.nodes -%}
      {%- do made_of.update({id: ppduck_node(graph.nodes.get(id) or graph.sources.get(id))}) -%}
    {%- endfor -%}
    {%- set given = {'key': key, 'conf': conf, 'nonconf': nonconf, 'limits': limits, 'moments': moments,
                     'tolerance': tolerance, 'keep': keep, 'qi': qi, 'p': p, 'matrix': matrix, 'levels': levels,
                     'original': original | string if original is not none else none} -%}
    {%- set request = {'node': ppduck_node(node), 'given': given, 'masked': model | string,
                       'made_of': made_of} -%}
    {%- set answer = ppduck_ask('release', request) -%}
    {%- if flags.EMPTY -%}
      select null as rule where false
    {%- elif flags.WHICH in ('build', 'test') -%}
      {%- set columns = [] -%}  {# of the release, which is there now #}
      {%- for row in run_query('describe select * from ' ~ answer['release']).rows -%}
        {%- do columns.append(row[0]) -%}
      {%- endfor -%}
      {%- do request.update({'columns': columns}) -%}
      {{- ppduck_told_failures(node.name, ppduck_ask('release', request)['sql']) -}}
    {%- else -%}
      {{- answer['sql'] -}}
    {%- endif -%}
  {%- else -%}
    select 1 as not_yet
  {%- endif -%}
{% endtest %}


{#- Runs a release check once: says which rules fail, and gives them as rows for dbt to count and store. -#}
{% macro ppduck_told_failures(name, statement) -%}
  {%- set rows = [] -%}
  {%- set found = run_query('select rule, column_name, at_most::varchar, "value"::varchar, why from (' ~ statement ~ ')') -%}
  {%- for rule, column, limit, value, why in found.rows -%}
    {%- set of = '' if column is none else ' of ' ~ column -%}
    {%- set said = 'is ' ~ value ~ ', above its limit of ' ~ limit if value is not none else 'could not be measured' -%}
    {%- do log('ppduck_release on "' ~ name ~ '": ' ~ rule ~ of ~ ' ' ~ said ~ ': ' ~ why, info=true) -%}
    {%- do rows.append('(' ~ ppduck_quoted(rule) ~ ', ' ~ ppduck_quoted(column) ~ ', ' ~ ppduck_quoted(limit) ~ '::double, '
                       ~ ppduck_quoted(value) ~ '::double, ' ~ ppduck_quoted(why) ~ ')') -%}
  {%- endfor -%}
  {%- set none_failed = '(null::varchar, null::varchar, null::double, null::double, null::varchar)' -%}
  select * from (values {{ rows | join(', ') if rows else none_failed }})
    as failed(rule, column_name, at_most, "value", why)
  {%- if not rows %} where false{% endif -%}
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


{% macro ppduck_has_rule(node) -%}
  {%- set found = [] -%}
  {%- for each in [node] + ((node.get('columns') or {}).values() | list) -%}
    {%- set metas = [each.get('meta'), (each.get('config') or {}).get('meta')] -%}
    {%- for key in (metas[0] or {}) | list + (metas[1] or {}) | list if key == 'ppduck' or (key | string).startswith('ppduck_call_') -%}
      {%- do found.append(true) -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- do return(found | length > 0) -%}
{%- endmacro %}


{% macro ppduck_quoted(text) -%}
  {%- do return("null" if text is none else "'" ~ (text | string | replace("'", "''")) ~ "'") -%}
{%- endmacro %}
