/**
 * What people think of some of the traces, by the ids of these, as `POST /traces/{id}/annotations` takes
 * it.
 */
export const ANNOTATIONS: Readonly<Record<string, object>> = {
  'billing-v6-015': {
    label: 'wrong refusal',
    rating: 1,
    correctness: 'incorrect',
    error_categories: ['policy'],
    corrected_output:
      'You are right, and I am sorry: the charge was our mistake. I have credited it, you will see it within three working days.',
    notes: 'The invoice shows the mistake, the agent even says so.',
  },
  'billing-v6-018': {
    label: 'made up',
    correctness: 'incorrect',
    error_categories: ['no look-up'],
    corrected_output:
      'I have looked the invoice up now: one charge too many was booked, and I have credited it.',
  },
  'billing-v5-035': {
    correctness: 'incorrect',
    corrected_output: 'The payment came in time, so I have taken the late fee back.',
    tags: ['training'],
  },
  'billing-v5-038': { rating: 1, label: 'made up', notes: 'Nothing was looked up.' },
  'billing-v4-003': { rating: 5, label: 'model answer', notes: 'Short, right, and friendly.' },
  'billing-v4-007': { rating: 4, notes: 'Could have said until when.' },
  'billing-v3-011': { rating: 3, label: 'so so', notes: 'Right, but it reads like a form.' },
  'billing-v6-005': { rating: 2, notes: 'The customer asked for an explanation, not for money.' },
  'billing-v6-008': { flagged_for_review: true, notes: 'Is a credit of this size ours to give?' },
  'billing-v6-025': { flagged_for_review: true, notes: 'Second complaint of this customer.' },
  'triage-002': { rating: 5 },
  'triage-007': { flagged_for_review: true, notes: 'I would have sent this one to support.' },
}

/** What people say of traces of which scores said too little, over and over. */
export const RATINGS = [5, 4, 5, 5, 4] as const
