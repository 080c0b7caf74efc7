{{ ppduck_release_table(ref('stg_customers')) }}
