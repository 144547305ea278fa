/** An area of an account: an office, a line of business, a company, a group of them, or the people of a supervisor. */
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { usageError } from '../../shared/errors.ts';
import { bind, type Readable, type Scope } from './statement.ts';

const AREA_WORDS = {
  field_office: 'office',
  line_of_business: 'line of business',
  client: 'company',
  supervisor: 'supervisor',
} as const;
type AreaKind = keyof typeof AREA_WORDS;
export const AREA_KINDS = Object.keys(AREA_WORDS) as AreaKind[];

export interface Area {
  readonly kind: AreaKind;
  /** Its name, its id, or the name of its group. */
  readonly name: string;
}

/** For example `field_office=Houston`. Throws `usage_invalid`. */
export function parseArea(text: string, flag = 'area'): Area {
  const [, word = '', name = ''] = /^\s*(\w+)\s*=\s*(.*\S)\s*$/.exec(text) ?? [];
  const kind = AREA_KINDS.find((one) => one === word);
  if (kind !== undefined) return { kind, name };
  const kinds = AREA_KINDS.join(', ');
  throw usageError(`${flag}: expected KIND=NAME with one of ${kinds}, for example field_office=Houston`);
}

/** The form that `parseArea` reads. */
export const areaText = ({ kind, name }: Area): string => `${kind}=${name}`;

/** For example `office Houston`. */
export const describeArea = ({ kind, name }: Area): string => `${AREA_WORDS[kind]} ${name}`;

/** The people responsible for each piece of equipment. */
export const RESPONSIBLE = `
select id as equipment_id, assigned_user_id as user_id from safety.equipment_overview where account_id = $1 and assigned_user_id <> ''
union
select equipment_id, user_id from safety.equipment_assigned_users where account_id = $1`;

export const PEOPLE_PLACES = `
select user_id, 'field_office' as area_kind, label as area, group_label as area_group, id as area_id from safety.people_field_offices where account_id = $1
union all
select user_id, 'line_of_business', label, group_label, id from safety.people_lines_of_business where account_id = $1
union all
select user_id, 'client', label, null, id from safety.people_clients where account_id = $1
union all
select user_id, 'supervisor', supervisor_name, null, substr(supervisor_key, length($1) + 2) from safety.people where account_id = $1 and supervisor_name is not null`;

export const EQUIPMENT_PLACES = `
select equipment_id, 'field_office' as area_kind, field_office_label as area, field_office_group as area_group, field_office_id as area_id
from safety.equipment_field_offices where account_id = $1
union all
select id, 'line_of_business', line_of_business_label, line_of_business_group, line_of_business_id
from safety.equipment_overview where account_id = $1 and line_of_business_id <> ''
union all
select equipment_id, 'client', client_label, null, client_id from safety.equipment_clients where account_id = $1
union all
select r.equipment_id, 'supervisor', p.supervisor_name, null, substr(p.supervisor_key, length($1) + 2)
from (${RESPONSIBLE}) r join safety.people p on p.account_id = $1 and p.user_id = r.user_id and p.supervisor_name is not null`;

const IDS = z.tuple([z.object({ people: z.array(z.string()), equipment: z.array(z.string()) })]);

/** Throws `usage_invalid` if the account has no such area. */
export async function readScope(db: Readable, accountId: string, area: Area | null): Promise<Scope> {
  const all: Scope = { accountId, people: null, equipment: null };
  if (area === null) return all;
  const { kind, name } = area;
  const idsOf = (
    id: string,
    places: string,
  ) => sql`coalesce((select json_agg(distinct ${sql.raw(id)}) from (${bind(places, all)}) a
    where a.area_kind = ${kind} and ${name} in (a.area, a.area_group, a.area_id)), '[]')`;
  const [found] = IDS.parse([
    ...(await db.execute(
      sql`select ${idsOf('user_id', PEOPLE_PLACES)} as people, ${idsOf('equipment_id', EQUIPMENT_PLACES)} as equipment`,
    )),
  ]);
  if (found.people.length + found.equipment.length > 0) return { accountId, ...found };
  throw usageError(
    `there is no ${describeArea(area)}; the report of the whole account shows those that there are`,
  );
}
