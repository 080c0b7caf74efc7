with masked as (
    {{ ppduck_mask(ref('stg_customers')) }}
)
select id, region, "plan" from masked
