/** Documents generated from the code: errors, variables, commands, alerts, folders. Needs no database. */
import type { Command } from 'commander';
import { ALERT_WORDS } from '../../src/operate/status/problem-words.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { EXIT_CODE_OF, EXIT_CODES } from '../../src/cli/run-results.ts';
import { listSettings } from './settings.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import {
  READ_ERRORS,
  type Recovery,
  SERVICE_ERRORS,
  TRANSPORT_ERRORS,
} from '../../src/shared/service-errors.ts';
import type { ERROR_KINDS, ErrorCode } from '../../src/shared/errors.ts';
import { PROGRAM_ERRORS, WAREHOUSE_ERRORS } from '../../src/shared/warehouse-errors.ts';
import { capital } from '../../src/shared/format.ts';
import { groupBy } from '../../src/shared/group-by.ts';
import { FOLDERS } from './folders.ts';
import { type Generated, markdownTable } from './generated.ts';

const code = (text: string): string => `\`${text}\``;

const WHAT_HAPPENS: Readonly<Record<Recovery, string>> = {
  retry: 'Retried; when attempts run out the stream fails.',
  fail_stream: 'The stream fails.',
  fail_run: 'The run sends no further request.',
  send_later: 'All other work continues. The message or report is sent again later.',
  fix_usage: 'Nothing is tried.',
};

function renderErrors(kinds: Readonly<Record<string, (typeof ERROR_KINDS)[ErrorCode]>>): string {
  return Object.entries(kinds)
    .flatMap(([name, { recovery, meaning, advice }]) => [
      `### ${code(name)}`,
      meaning,
      `**What happens.** ${WHAT_HAPPENS[recovery]} Exit code ${EXIT_CODE_OF[recovery]}.`,
      `**What to do.** ${advice}`,
    ])
    .join('\n\n');
}

/** Files of docs/ as links. */
const linked = (about: string): string => about.replace(/docs\/((\w+)\.md(?:#[\w-]+)?)/g, '[$2]($1)');

const renderVariables = (): string =>
  groupBy(listSettings(), ({ group }) => group)
    .flatMap((settings) => [
      `### ${capital(settings[0].group)}`,
      markdownTable(
        ['variable', 'default', 'meaning'],
        settings.map(({ name, value, about }) => {
          const isDefault =
            VARIABLES[name as keyof typeof VARIABLES]?.safeParse(undefined).data !== undefined;
          return [code(name), isDefault && value !== '' ? code(value) : '–', linked(about)];
        }),
      ),
    ])
    .join('\n\n');

/** Includes subcommands such as `labels import`. */
const commandsOf = (command: Command, before = ''): (readonly [string, Command])[] =>
  command.commands.flatMap((one) => {
    const name = `${before}${one.name()}`;
    return [[name, one] as const, ...commandsOf(one, `${name} `)];
  });

async function renderCommands(): Promise<Record<string, string>> {
  const program = await buildProgram(() => Promise.resolve());
  const commands = commandsOf(program);
  const verbs = commands.map(([name, command]) => {
    const places = command.registeredArguments.map((one) =>
      one.required ? `<${one.name()}>` : `[${one.name()}${one.variadic ? '...' : ''}]`,
    );
    return [code([name, ...places].join(' ')), command.description()];
  });
  // Verbs grouped by option and description.
  const options = new Map<
    string,
    { readonly flags: string; readonly means: string; readonly verbs: string[] }
  >();
  for (const [name, command] of commands) {
    for (const { flags, description, defaultValue } of command.options) {
      const means = `${description}${defaultValue === undefined ? '' : ` (default: ${code(String(defaultValue))})`}`;
      const known = options.get(`${flags} ${means}`) ?? { flags: code(flags), means, verbs: [] };
      options.set(`${flags} ${means}`, known);
      known.verbs.push(code(name));
    }
  }
  const isCommon = ({ verbs: of }: { readonly verbs: readonly string[] }) => of.length > 3;
  const common = [...options.values()].filter(isCommon);
  const single = [...options.values()].filter((one) => !isCommon(one));
  return {
    verbs: markdownTable(['verb', 'does'], verbs),
    options: [
      common
        .map(({ flags, means, verbs: of }) => `- ${flags}: ${means}. Verbs: ${of.join(', ')}.`)
        .join('\n'),
      markdownTable(
        ['verb', 'option', 'means'],
        single.map(({ flags, means, verbs: of }) => [of.join(', '), flags, means]),
      ),
    ].join('\n\n'),
    'exit codes': markdownTable(['exit code', 'means'], EXIT_CODES),
  };
}

const renderAlerts = (): string =>
  markdownTable(
    ['event', 'begins when', 'what to do'],
    Object.entries(ALERT_WORDS).map(([event, { when, advice }]) => [
      code(event),
      when,
      advice ?? 'the advice of its [code](errors.md)',
    ]),
  );

const renderFolders = (): string =>
  Object.entries(FOLDERS)
    .map(([folder, { owns }]) => `- **${code(folder)}**: ${owns}.`)
    .join('\n');

/** By path from the project root. */
export async function renderCodeDocs(): Promise<Record<string, Generated>> {
  return {
    'docs/errors.md': {
      'service errors': renderErrors(SERVICE_ERRORS),
      'transport errors': renderErrors(TRANSPORT_ERRORS),
      'read errors': renderErrors(READ_ERRORS),
      'warehouse errors': renderErrors(WAREHOUSE_ERRORS),
      'program errors': renderErrors(PROGRAM_ERRORS),
    },
    'docs/configuration.md': { variables: renderVariables() },
    'docs/cli.md': await renderCommands(),
    'docs/operations.md': { alerts: renderAlerts() },
    'docs/design.md': { folders: renderFolders() },
  };
}
