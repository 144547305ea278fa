import type { Readable } from 'node:stream';
import { AnswerDefect } from './answer-defect.ts';
import { openBodyChunks, toCompressionDefect } from './body-chunks.ts';
import { createElementCutter } from './element-cutter.ts';
import type { CutAnswer } from './element-cutter.ts';
import type { RecordSink } from './record-sink.ts';
import type { WaitingBudget } from './waiting-budget.ts';

const BATCH_RECORDS = 500;
const BATCH_BYTES = 1024 * 1024;

/** How much of an unusable answer is read for the error's excerpt. */
const HEAD_BYTES = 4096;

/** Why an answer could not be read to its end, with its beginning. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer';
  readonly defect: AnswerDefect;
  readonly head: string;

  constructor(defect: AnswerDefect, head: string) {
    super(defect.message);
    this.defect = defect;
    this.head = head;
  }
}

export interface AnswerReading {
  readonly body: Readable;
  readonly contentEncoding: string | undefined;
  readonly listKey: string | undefined;
  readonly sink: RecordSink | undefined;
  readonly budget: WaitingBudget;
  /** Bytes as they came over the wire. */
  readonly onReceived: (bytes: number) => void;
}

/** Hands records on in batches, the first one of an attempt behind a restart. */
function createBatcher(sink: RecordSink | undefined): {
  add(records: unknown[], bytes: number): Promise<void>;
  flush(): Promise<void>;
} {
  let restarted = false;
  let pending: unknown[] = [];
  let pendingBytes = 0;
  const flush = async (): Promise<void> => {
    if (sink === undefined) return;
    const records = pending;
    pending = [];
    pendingBytes = 0;
    if (!restarted) await sink.restart();
    restarted = true;
    for (let from = 0; from < records.length; from += BATCH_RECORDS) {
      await sink.records(records.slice(from, from + BATCH_RECORDS));
    }
  };
  return {
    add: async (records, bytes) => {
      pending = pending.length === 0 ? records : pending.concat(records);
      pendingBytes += bytes;
      if (pending.length >= BATCH_RECORDS || (pending.length > 0 && pendingBytes >= BATCH_BYTES))
        await flush();
    },
    flush,
  };
}

/** Reads one answer: its records go to the sink as they arrive, the rest is returned at its end. */
export async function readAnswer(reading: AnswerReading): Promise<CutAnswer> {
  const { budget } = reading;
  const cutter = createElementCutter(reading.listKey);
  const batcher = createBatcher(reading.sink);
  let head = Buffer.alloc(0);
  let defect: AnswerDefect | undefined;
  let receivedSinceAsked = 0;
  const asDefect = (error: unknown): AnswerDefect => {
    if (error instanceof AnswerDefect) return error;
    throw error;
  };

  try {
    const chunks = openBodyChunks(reading.body, reading.contentEncoding, (bytes) => {
      receivedSinceAsked += bytes;
      reading.onReceived(bytes);
    });
    for (;;) {
      budget.startWaiting();
      let next: IteratorResult<Buffer>;
      try {
        next = await chunks.next();
      } finally {
        budget.stopWaiting(receivedSinceAsked);
        receivedSinceAsked = 0;
      }
      if (next.done === true) break;
      const chunk = next.value;
      if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)]);
      if (defect === undefined) {
        try {
          cutter.push(chunk);
        } catch (error) {
          defect = asDefect(error);
        }
        await batcher.add(cutter.take(), chunk.length);
      }
      // Behind a defect only the excerpt is still worth reading.
      if (defect !== undefined && head.length >= HEAD_BYTES) break;
    }
    if (defect !== undefined) throw defect;
    const answer = cutter.end();
    if (answer.envelope['ok'] === true) await batcher.flush();
    return answer;
  } catch (error) {
    const found = defect ?? (error instanceof AnswerDefect ? error : toCompressionDefect(error));
    if (found === undefined) throw error;
    throw new UnusableAnswer(found, head.toString('utf8'));
  } finally {
    // An answer that was not read to its end takes its connection with it.
    reading.body.destroy();
  }
}
