/** An answer that cannot be used, found while reading its bytes; the client adds which request it was. */
export class AnswerDefect extends Error {
  override readonly name = 'AnswerDefect';
  readonly code: 'response_cut' | 'response_not_json' | 'response_invalid';

  constructor(code: AnswerDefect['code'], message: string) {
    super(message);
    this.code = code;
  }
}
