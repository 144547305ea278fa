import { usageError } from '../shared/errors.ts';
import type { Terminal } from './terminal.ts';

export const YES_OPTION = ['--yes', 'do it without a question; needed off a terminal'] as const;

/** Throws `usage_invalid` unless the change is confirmed by the name that is typed, or by --yes. */
export async function confirm(
  terminal: Terminal,
  { yes }: { readonly yes?: true },
  { name, command }: { readonly name: string; readonly command: string },
): Promise<void> {
  if (yes === true) return;
  if (terminal.ask === undefined) {
    throw usageError('off a terminal this needs --yes', `If it is meant: ${command} --yes`);
  }
  const typed = await terminal.ask(`Type ${name} to go on: `);
  if (typed.trim() !== name) throw usageError(`that was not ${name}: nothing was changed`);
}
