/**
 * Names for ids that the service sends without a name: entered by people, shown by the views, never changed
 * by a sync.
 */
import { sql } from 'drizzle-orm';
import { check, primaryKey, text } from 'drizzle-orm/pg-core';
import { accountId, safetySchema, idText } from '../engine/streams/columns.ts';

/** The kinds of ids that have labels. */
export const LABEL_KINDS = [
  'form',
  'training',
  'equipment_type',
  'schedule',
  'category',
  'field_office',
  'client',
  'line_of_business',
  'metafield',
  'metafield_item',
] as const;
export type LabelKind = (typeof LABEL_KINDS)[number];

export const labels = safetySchema.table(
  'labels',
  {
    account_id: accountId(),
    kind: idText().$type<LabelKind>().notNull(),
    /** As text, numbers too. */
    id: idText().notNull(),
    /** null: the name that the service gives, in the group of its parent. */
    label: text(),
    /** Another label of the same kind: the parent of this one. */
    parent_id: idText(),
  },
  (t) => [
    primaryKey({ columns: [t.account_id, t.kind, t.id] }),
    check(
      'labels_kind_check',
      sql`${t.kind} in (${sql.raw(LABEL_KINDS.map((kind) => `'${kind}'`).join(', '))})`,
    ),
  ],
);
