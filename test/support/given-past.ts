/** Gives rows a history as after months of syncing: states of every status, spread over the year. */
export const GIVEN_PAST = [
  `insert into safety.equipment_states (account_id, id, equipment_type_id, is_in_service, status, valid_from, valid_to)
   select account_id, id, equipment_type_id, is_in_service, (array['expiring', 'uptodate', 'expired'])[1 + abs(hashtext(id)) % 3],
     _valid_from - (20 + abs(hashtext(id)) % 200) * interval '19 hours', _valid_from from safety.equipment`,
  `insert into safety.training_employee_status_states (account_id, user_id, status, valid_from, valid_to)
   select account_id, user_id, (array['expiring', 'incomplete', 'active'])[1 + abs(hashtext(user_id)) % 3],
     _valid_from - (10 + abs(hashtext(user_id)) % 200) * interval '19 hours', _valid_from
   from safety.training_employee_status`,
];
