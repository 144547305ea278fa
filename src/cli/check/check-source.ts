/** Compares the configured service with what is stored: whether it is the one that was read, and how much each has. */
import type { Account, App } from '../../app.ts';
import { readStoredPartitions } from '../../engine/control-tables/stored-partitions.ts';
import { describeSource, sourceChanged } from '../../engine/sync/source.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { readAccounts } from '../../operate/status/read-accounts.ts';
import { countRows } from '../../operate/status/read-volumes.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import { type Check, failed, ok, skipped } from './finding.ts';

const DIFFERENCE_ADVICE =
  'What changed since the last sync can be the reason, or records that could not be stored (safety-sync data-issues). If it stays after a sync: safety-sync reconcile';

/** No check before something is stored. */
export async function checkSource({ id, source }: Account, what: string): Promise<Check | undefined> {
  const { stored, current, isOther } = await source.compare();
  if (stored?.isRead !== true) return undefined;
  if (!isOther) return ok(what, `account ${id} belongs to ${describeSource(current)}`);
  const { code, message, advice } = sourceChanged(id, stored, current);
  return { ...failed(what, message, advice.replaceAll('\n', '\n       ')), code };
}

/** How many records of a stream, or of one equipment type, the service should have; undefined: they were not read yet. */
export type RowsOf = (stream: StreamName, type?: string) => number | undefined;

export async function readRows({
  db,
  connection,
  accountIds,
  clock,
}: App): Promise<(account: string) => RowsOf> {
  const counts = [...(await countRows(db, accountIds))];
  const { accounts } = await readAccounts(connection, accountIds, { clock });
  const types = await readStoredPartitions(db, accountIds);
  return (account) => (stream, type) => {
    const read = accounts.get(account)?.find((one) => one.stream === stream);
    if (read?.lastSuccessMs == null) return undefined;
    if (type === undefined)
      return counts.find((one) => one.account_id === account && one.stream === stream)?.listed ?? 0;
    return types.get(account)?.find((one) => one.partition === type)?.live;
  };
}

/** A difference is no failure: the source may have changed since the last sync. `rows` undefined: nothing to compare. */
export function compareTotal(what: string, total: number, rows: number | undefined): Check {
  const responds = `responds, ${formatNumber(total, 'record')}`;
  if (rows === undefined) return ok(what, responds);
  if (rows === total) return ok(what, `${responds}, as many as the warehouse has`);
  const found = skipped(what, `${responds}, and the warehouse has ${formatCount(rows)}`, DIFFERENCE_ADVICE);
  return { ...found, remark: 'service and warehouse differ' };
}
