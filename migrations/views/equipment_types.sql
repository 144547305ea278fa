create or replace view safety.equipment_types as
select account_id, id, name as title from safety.names where kind = 'equipment_type' and _deleted_at is null;
