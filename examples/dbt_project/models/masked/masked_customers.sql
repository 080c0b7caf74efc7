{{ ppduck_mask(ref('stg_customers')) }}
