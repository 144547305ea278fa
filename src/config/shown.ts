/** What an error about a setting may repeat of it: a value in the wrong variable is no less secret there. */

/** Tokens and passwords are hardly shorter; relative paths hardly longer. */
const SHORT = 20;

/** URLs without user and password, whatever stands in them up to the last @. */
export function withoutUserinfo(text: string): string {
  return text.replace(/\b([a-z][\w+.-]*:\/\/)[^\s"]*@/gi, '$1[secret]@');
}

/** The path of a file that holds a secret, unless it could be the secret itself, set in the place of the path. */
export function shownPath(path: string, full: string = path): string {
  const isPath = /^([./~\\]|[a-z]:[\\/])/i.test(path) || path.length < SHORT;
  return isPath ? full : 'the file that it names (not shown: it may be the secret itself)';
}
