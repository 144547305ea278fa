select * from {{ source('safety', 'current_resource_versions') }}
