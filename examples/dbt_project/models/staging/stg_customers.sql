select id, age, region, "plan", income, spending, debt  -- the name stays behind
from {{ ref('customers') }}
