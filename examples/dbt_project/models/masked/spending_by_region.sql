select region, count(*) as customers, avg(spending) as spending
from {{ ref('masked_customers') }}
group by region
