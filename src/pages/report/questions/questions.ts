/** All questions of the safety report. */
import { DOCUMENT_QUESTIONS, EQUIPMENT_QUESTIONS } from './asset-questions.ts';
import { FOLLOWUP_QUESTIONS } from './followup-questions.ts';
import { as, question } from './question.ts';
import { TRAINING_QUESTIONS } from './training-questions.ts';
import { weekByPerson } from './week-questions.ts';

export const QUESTIONS = {
  ...FOLLOWUP_QUESTIONS,
  ...TRAINING_QUESTIONS,
  ...EQUIPMENT_QUESTIONS,
  ...DOCUMENT_QUESTIONS,
  weekByPerson,
  /** Which people share a name? */
  namesakes: question({ id: as.text })`
select id
from (select id, count(*) over (partition by name) as people from safety.users where account_id = $1) u
where people > 1
order by id`,
  /** Which ids have the label of another one? */
  sharedLabels: question({ kind: as.text, id: as.text })`
select kind, id
from (select kind, id, count(*) over (partition by kind, label) as ids from safety.id_labels where account_id = $1) l
where ids > 1
order by kind, id`,
};
