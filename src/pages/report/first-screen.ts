/** The beginning of the report, its mail and its workbook: the state of the data, key figures, the most urgent tasks. */
import { streamNamed } from '../../engine/streams/index.ts';
import { capital, formatCount, formatDuration, formatNumber, roughly } from '../../shared/format.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../shared/time.ts';
import { shortenPseudonyms } from '../../shared/pseudonym.ts';
import { dayAfter, formatDay, formatShare, formatWeekday, shorten } from '../words.ts';
import type { Row } from './cells.ts';
import { linkOf } from './list-table.ts';
import type { ListName } from './lists.ts';
import { isAnythingRead, NOTHING_READ, type Part, type Report } from './read-report.ts';

export interface KeyFigure {
  readonly title: string;
  readonly value: string;
  readonly beside: string;
  /** For example `▲ 3 in a week`; empty: the earlier value is not known. */
  readonly change: string;
  readonly isBetter?: boolean | undefined;
  readonly isBad?: boolean;
}

const textOf = (row: Row | undefined, column: string): string =>
  shortenPseudonyms(String(row?.[column] ?? ''));

/** The filled ones of these. */
const join = (separator: string, ...texts: readonly string[]): string =>
  texts.filter((text) => text !== '').join(separator);

/** Empty where there are none. */
function counted(count: unknown, noun: string, more = ''): string {
  const number = Number(count ?? 0);
  return number === 0 ? '' : `${formatNumber(number, noun).replace('persons', 'people')}${more}`;
}

/** Fewer is better. */
function compare(now: number, before: number | undefined): Pick<KeyFigure, 'change' | 'isBetter'> {
  const by = now - (before ?? Number.NaN);
  if (Number.isNaN(by)) return { change: '' };
  if (by === 0) return { change: 'as many as a week ago' };
  return { change: `${by > 0 ? '▲' : '▼'} ${formatCount(Math.abs(by))} in a week`, isBetter: by < 0 };
}

export function keyFiguresOf(report: Report): KeyFigure[] {
  const { figures: f, trends, parts, today } = report;
  const weekAgo = dayAfter(today, -7);
  const before = trends.followupsByDay.find(({ date }) => date === weekAgo);
  const expiredBefore = trends.equipmentByDay.find(({ date }) => date === weekAgo)?.expired;
  const oldest = textOf(report.lists['overdue-followups'].rows[0], 'due_on');
  const unread = parts.reduce((sum, part) => sum + part.unread, 0);
  /** A stream that was never read has figures only if an interrupted first read has stored rows. */
  const ifRead = (of: Part['stream'], whole: number, figures: readonly KeyFigure[]): readonly KeyFigure[] =>
    whole > 0 || parts.some(({ stream, read_ms: ms }) => stream === of && ms !== null) ? figures : [];
  return [
    ...ifRead('followups', f.followups, [
      {
        title: 'Open follow-ups',
        value: formatCount(f.open),
        beside: `${formatCount(f.open - f.overdue)} of them not yet due`,
        ...compare(f.open, before?.open),
      },
      {
        title: 'Overdue follow-ups',
        value: formatCount(f.overdue),
        beside: oldest === '' ? 'none' : `the oldest since ${formatDay(oldest)}`,
        isBad: f.overdue > 0,
        ...compare(f.overdue, before?.overdue),
      },
      {
        title: 'Done in time',
        change: '',
        value: formatShare(f.done_in_time, f.fell_due),
        beside: join(
          ' ',
          f.fell_due === 0
            ? 'No follow-up fell due in the last 30 days.'
            : `${formatCount(f.done_in_time)} of the ${formatNumber(f.fell_due, 'follow-up')} that fell due in the last 30 days ${f.done_in_time === 1 ? 'was' : 'were'} done by their day.`,
          f.closed_with_due_day === 0
            ? ''
            : `Of the ${formatCount(f.closed_with_due_day)} that were closed in these days, ${formatCount(f.closed_in_time)} (${formatShare(f.closed_in_time, f.closed_with_due_day)}) ${f.closed_in_time === 1 ? 'was' : 'were'} in time.`,
        ),
      },
    ]),
    ...ifRead('training-employee-status', f.needing_training, [
      {
        title: 'Fully trained people',
        change: '',
        value: formatShare(f.compliant, f.needing_training),
        beside: join(
          '; ',
          `${formatCount(f.compliant)} of ${formatCount(f.needing_training)} have all they need`,
          counted(f.leavers_in_training, 'person', ' who left not counted'),
        ),
      },
    ]),
    ...ifRead('equipments', f.in_service, [
      {
        title: 'Expired equipment',
        value: formatCount(f.expired_equipment),
        beside: join(
          '; ',
          `of ${formatCount(f.in_service)} in service`,
          counted(unread, 'piece', ' not read any more'),
        ),
        isBad: f.expired_equipment > 0,
        ...compare(f.expired_equipment, expiredBefore),
      },
    ]),
  ];
}

export type FirstList = ReturnType<typeof firstListsOf>[number];

const MOST_LINES = 5;
/** Most tasks of each kind. */
const MOST_TASKS = 2;
const NOTE_LENGTH = 90;

/** Each line: a record, and texts about it, the important one first. `rest` describes the omitted lines; empty: there are none. */
export function firstListsOf(report: Report) {
  const { figures: f, lists } = report;
  const linesOf = (
    list: ListName,
    rows: readonly Row[],
    toTexts: (row: Row) => readonly [shown: string, ...texts: string[]],
  ) =>
    rows.map((row) => {
      const [shown, ...texts] = toTexts(row);
      return { url: linkOf(report, list, row), shown, texts };
    });
  const expired = lists['expired-inspections'].rows.slice(0, MOST_LINES);
  const busy = lists.people.rows.filter((row) => row['is_active'] !== false && Number(row['due_now']) > 0);
  const soonest = ['follow-up', 'training', 'inspection'].flatMap((task) =>
    lists['due-next'].rows.filter((row) => row['task'] === task).slice(0, MOST_TASKS),
  );
  const tasks = lists['due-next'].rows.filter((row) => soonest.includes(row));
  const moreExpired = f.expired_inspections - expired.length;
  const moreTasks = lists['due-next'].total - tasks.length;
  return [
    {
      title: 'Stop or replace today',
      lines: linesOf('expired-inspections', expired, (row) => {
        const day = textOf(row, 'expires_on');
        const what = `${textOf(row, 'schedule_label')} ${day === '' ? 'expired or never done' : `expired ${day === report.today ? 'today' : formatDay(day)}`}`;
        const who = textOf(row, 'responsible_name') || 'nobody is responsible';
        return [
          join(' ', textOf(row, 'title'), textOf(row, 'serial_number')),
          what,
          join(', ', textOf(row, 'field_offices'), who),
        ];
      }),
      rest: moreExpired > 0 ? `and ${formatNumber(moreExpired, 'more expired inspection')}` : '',
      none: 'No equipment in service has an expired inspection.',
    },
    {
      title: 'Call first',
      lines: linesOf('people', busy.slice(0, MOST_LINES), (row) => {
        const due = join(
          ', ',
          counted(row['overdue_followups'], 'overdue follow-up'),
          counted(row['lacking_trainings'], 'lacking training'),
          counted(row['expired_inspections'], 'expired inspection'),
        );
        const supervisor = textOf(row, 'supervisor_name').replace(/^(?=.)/, 'supervisor ');
        return [textOf(row, 'user_name'), due, join(', ', textOf(row, 'field_office'), supervisor)];
      }),
      rest: join(
        ' ',
        busy.length === 0
          ? ''
          : 'Ranked by overdue follow-ups, lacking trainings and expired inspections together.',
        counted(f.with_leavers, 'open follow-up', ` with ${counted(f.leavers, 'person')} who left.`),
      ),
      none: 'Nobody has anything overdue, lacking or expired.',
    },
    {
      title: 'Due in the next seven days',
      lines: linesOf('due-next', tasks, (row) => {
        const who = textOf(row, 'responsible_name') || 'nobody';
        return [
          `${formatWeekday(textOf(row, 'due_on'))}: ${textOf(row, 'label')}`,
          shorten(textOf(row, 'about'), NOTE_LENGTH),
          `${capital(textOf(row, 'task'))}, ${who}`,
        ];
      }),
      rest: moreTasks > 0 ? `and ${formatNumber(moreTasks, 'more task')}` : '',
      none: 'Nothing falls due, lapses or expires in the next seven days.',
    },
  ];
}

/** The period up to now that contains this age. */
function lastOf(ageMs: number): string {
  if (ageMs <= HOUR_MS)
    return ageMs <= MINUTE_MS ? 'minute' : formatNumber(Math.ceil(ageMs / MINUTE_MS), 'minute');
  return formatNumber(Math.ceil(ageMs / HOUR_MS), 'hour');
}

/** Where the data is old or incomplete. */
export function notesOf({ parts, asOfMs, area }: Report) {
  if (!isAnythingRead({ parts })) return [{ text: NOTHING_READ, isBad: true }];
  const namesOf = (some: readonly Part[]): string =>
    some.map(({ stream }) => streamNamed(stream).contents).join(', ');
  const oldestMs = Math.min(...parts.flatMap(({ read_ms: ms }) => ms ?? []));
  const ageMs = asOfMs - oldestMs;
  const age = ageMs < MINUTE_MS ? 'less than a minute' : roughly(formatDuration(ageMs));
  const oldest = namesOf(parts.filter(({ read_ms: ms }) => ms === oldestMs));
  const never = namesOf(parts.filter(({ read_ms: ms }) => ms === null));
  const failed = namesOf(parts.filter((part) => part.has_failed));
  const unread = parts
    .filter((part) => part.unread > 0)
    .map(
      (part) =>
        `${formatNumber(part.unread, 'piece')} of equipment (type ${part.unread_types ?? ''}), last read on ${formatDay(part.unread_on)}`,
    );
  const tell = (isSo: boolean, text: string, isBad = true) => (isSo ? [{ text, isBad }] : []);
  const isFresh = never === '' && unread.length === 0 && ageMs <= DAY_MS;
  return [
    isFresh
      ? { text: `All data was read within the last ${lastOf(ageMs)}.`, isBad: false }
      : { text: `The oldest part, ${oldest}, was read ${age} before this report.`, isBad: ageMs > DAY_MS },
    ...tell(never !== '', `Not completely read yet: ${never}.`),
    ...tell(failed !== '', `The newest attempt to read ${failed} failed: what it shows is from before.`),
    ...tell(unread.length > 0, `Counted, but not read any more: ${unread.join('; ')}.`),
    ...tell(
      area !== null,
      'An area has the trainings and follow-ups of its people, and its equipment.',
      false,
    ),
  ];
}
