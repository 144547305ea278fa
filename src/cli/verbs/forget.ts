import { formatNumber } from '../../shared/format.ts';
import { usageError } from '../../shared/errors.ts';
import { cancelForgetting, findStoredPerson, forgetPerson, listForgotten } from '../../engine/sync/forget.ts';
import { withIsoTimes } from '../../operate/status/json-status.ts';
import { buildRunEvents } from '../../operate/worker/run-log.ts';
import { renderRows } from '../table.ts';
import { confirm } from '../terminal.ts';
import { onlyAccountOf, type Verb } from '../verb.ts';

interface Flags {
  readonly name?: readonly string[];
  readonly list?: true;
  readonly cancel?: string;
}

export const forget: Verb<Flags> = {
  about: 'replace a person by a pseudonym everywhere, now and whenever the source sends them again',
  takes: [['[user_id]', 'id of the person: as in safety.users.id']],
  options: [
    ['--name <name...>', 'another name to find in texts, in addition to the stored one'],
    ['--list', 'who is forgotten, and since when'],
    ['--cancel <user_id>', 'no longer forget this person: the name returns with the next read'],
  ],
  common: ['account', 'yes', 'json'],
  needs({ list, cancel }, [typed = '']) {
    if ([list, cancel, typed.trim() || undefined].filter((one) => one !== undefined).length !== 1)
      throw usageError('name the id of one person, or --list, or --cancel ID');
    return {};
  },
  async run({ app, terminal }, options, [typed = '']) {
    const { list, cancel, name: names } = options;
    const id = typed.trim();
    const account = onlyAccountOf(app, 'a person');
    const runContext = account.runContext(buildRunEvents(account));
    if (list) {
      const forgotten = (await listForgotten(runContext)).map(withIsoTimes);
      const table = renderRows(terminal, forgotten, {
        person: ({ person }) => person,
        'forgotten at': ({ forgotten_at: at }) => at,
      });
      return { json: { forgotten }, lines: [forgotten.length === 0 ? 'Nobody is forgotten.' : table] };
    }
    if (cancel !== undefined) {
      const person = await cancelForgetting(runContext, cancel);
      const who = 'Who is: safety-sync forget --list';
      if (person === null) throw usageError(`${cancel} is not forgotten: nothing was changed`, who);
      const said = `${cancel} is not forgotten any more. The next complete read brings id and name back: safety-sync reconcile`;
      return { json: { cancelled: person }, lines: [said] };
    }
    const found = await findStoredPerson(runContext, id);
    // A name is given where no row has the id any more, for example after the loss of the key.
    if (found === undefined && names === undefined)
      throw usageError(
        `nobody has the id ${id}: nothing was changed`,
        `To find an id: select user_id, name from safety.people where name ilike '%…%'`,
      );
    const tables = (found?.tables ?? []).map(
      ({ table, rows }) => `\n  ${table}: ${formatNumber(rows, 'row')}`,
    );
    const who = found?.name ?? 'a person without a stored name';
    terminal.note(`To be forgotten: ${who} (${id}). Rows with the id:${tables.join('') || ' none'}`);
    await confirm(terminal, options, id, `safety-sync forget ${id}`);
    const { pseudonym, streams, runs, isNameKnown } = await forgetPerson(runContext, id, names);
    const changed = streams.reduce((sum, { rowsChanged }) => sum + (rowsChanged ?? 0), 0);
    const unknown = `Texts may still name them: no name of two words is known here. To find one: safety-sync forget ${id} --name "First Last"`;
    return {
      json: {
        account_id: account.id,
        pseudonym,
        name_known: isNameKnown,
        streams: streams.map(({ stream, rowsChanged }) => ({ stream, rows_changed: rowsChanged ?? 0 })),
        runs_changed: runs,
      },
      lines: [
        `${formatNumber(changed, 'row')} rewritten. They are ${pseudonym} everywhere, also in what the source sends of them from now on.`,
        ...(isNameKnown ? [] : [unknown]),
        'Not reached from here: labels, backups (after a restore, forget again), reports, exports and logs (docs/privacy.md).',
      ],
    };
  },
};
