/** Everything that the report asks. */
import { DOCUMENT_QUESTIONS, EQUIPMENT_QUESTIONS } from './asset-questions.ts';
import { FOLLOWUP_QUESTIONS } from './followup-questions.ts';
import { TRAINING_QUESTIONS } from './training-questions.ts';

export const QUESTIONS = {
  ...FOLLOWUP_QUESTIONS,
  ...TRAINING_QUESTIONS,
  ...EQUIPMENT_QUESTIONS,
  ...DOCUMENT_QUESTIONS,
};
