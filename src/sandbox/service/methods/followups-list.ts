import * as z from 'zod';
import type { Followup } from '../../records.ts';
import { ServiceError } from '../service-error.ts';
import { method, toPage, wholeNumber } from '../method.ts';

const time = z.number().optional();

const rules = {
  form_id: z.number().optional(),
  limit: wholeNumber(500),
  page: wholeNumber(),
  status: z.enum(['all', 'open', 'closed', 'overdue']).optional(),
  observer_id: z.string().optional(),
  assignee_id: z.string().optional(),
  response_id: z.number().optional(),
  created_before: time,
  created_after: time,
  updated_before: time,
  updated_after: time,
  followup_display_id: z.boolean().optional(),
};

export const followupsList = method(rules, (asked, { store, readings }) => {
  const found = store.followups.find(asked);
  const { paging, records } = toPage(found, { limit: asked.limit ?? 100, page: asked.page }, readings);
  if (records.some(({ id }) => readings.unrenderable.includes(id))) throw new ServiceError('server_error');
  const shape = ({ followup_display_id, ...record }: Followup): object => ({
    ...(readings.followups === 'observed' ? asObserved(record) : record),
    ...(asked.followup_display_id === true && { followup_display_id }),
  });
  return { fields: { paging }, list: { name: 'followups', records: records.map(shape) } };
});

const asText = (time: unknown): unknown => (Number.isSafeInteger(time) ? String(time) : time);

function asObserved(record: Omit<Followup, 'followup_display_id'>): object {
  const { created_on, updated_on, resolved_on = null, due = null, m_completer_id = null } = record;
  const times = {
    created_on: asText(created_on),
    updated_on: asText(updated_on),
    resolved_on: asText(resolved_on),
  };
  return { ...record, ...times, due, m_completer_id };
}
