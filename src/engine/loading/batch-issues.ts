/**
 * The issues of a batch, as text for COPY, because some records have thousands. Each record lists a bounded number. Fields that
 * the specification does not name have one issue for each name, however many records show it; beyond a bound one issue
 * represents all others, because a service that uses data as names (`{"2026-11-21": …}`) never stops sending new ones.
 */
import { formatCount } from '../../shared/format.ts';
import type { RecordIssue } from '../streams/stream.ts';
import { CopyChunks, toCopyLine } from './copy-text.ts';
import { ISSUE_STAGE_COLUMNS } from './issue-sql.ts';
import type { ReadRecord } from './record.ts';
import {
  fingerprintOf,
  MOST_UNKNOWN_FIELDS,
  type StagedIssue,
  toStagedIssue,
  UNLISTED,
} from './staged-issue.ts';

/** Issues of one record that are listed. */
const MOST_OF_A_RECORD = 100;

const toUnlistedField = (issue: StagedIssue): StagedIssue => ({
  ...issue,
  fingerprint: UNLISTED,
  field: null,
  problem: `more than ${formatCount(MOST_UNKNOWN_FIELDS)} fields that the specification does not name: the others are not listed`,
  value: { [issue.field ?? '']: issue.value },
  context: null,
});

const toUnlisted = (issue: StagedIssue): StagedIssue => ({
  ...issue,
  kind: 'field_nulled',
  fingerprint: fingerprintOf({ kind: 'field_nulled', field: null }, issue.record_id),
  field: null,
  problem: `more than ${MOST_OF_A_RECORD} values that cannot be stored as they came: the others are not listed, and are in _raw`,
  value: null,
});

export class BatchIssues {
  readonly #text = new CopyChunks();
  /** Fingerprints of unknown fields with an issue of their own; grows up to the bound. */
  readonly #listed: Set<string>;
  /** By name, all beyond the bound by null. The first record of the batch that shows the field is its example. */
  readonly #unknownFields = new Map<string | null, { readonly issue: StagedIssue; times: number }>();
  #ord = -1;
  #ofRecord = 0;

  constructor(listed: Set<string>) {
    this.#listed = listed;
  }

  /** `isStaged`: the record is in the staging tables. The issues of one record follow one another. */
  add(issue: RecordIssue, read: ReadRecord, isStaged: boolean): void {
    if (issue.kind === 'unknown_field') {
      this.#addUnknownField(issue, read);
      return;
    }
    if (this.#ord !== read.ord) this.#ofRecord = 0;
    this.#ord = read.ord;
    this.#ofRecord += 1;
    if (this.#ofRecord > MOST_OF_A_RECORD + 1) return;
    const staged = { ...toStagedIssue(issue, read), is_staged: isStaged };
    this.put(this.#ofRecord > MOST_OF_A_RECORD ? toUnlisted(staged) : staged);
  }

  put(issue: StagedIssue): void {
    this.#text.add(toCopyLine(ISSUE_STAGE_COLUMNS, { ...issue }));
  }

  #addUnknownField(issue: RecordIssue, read: ReadRecord): void {
    const known = this.#unknownFields.get(issue.field);
    if (known !== undefined) {
      known.times += 1;
      return;
    }
    const staged = toStagedIssue(issue, read);
    const isListed = this.#listed.has(staged.fingerprint) || this.#listed.size < MOST_UNKNOWN_FIELDS;
    if (isListed) this.#listed.add(staged.fingerprint);
    const name = isListed ? issue.field : null;
    const times = (this.#unknownFields.get(name)?.times ?? 0) + 1;
    this.#unknownFields.set(name, { issue: isListed ? staged : toUnlistedField(staged), times });
  }

  /** All added issues. */
  close(): readonly Buffer[] {
    // Such an issue is about the format, and stays when the row of its example is refused or dropped.
    for (const { issue, times } of this.#unknownFields.values()) this.put({ ...issue, of_row: false, times });
    this.#unknownFields.clear();
    return this.#text.close();
  }
}
