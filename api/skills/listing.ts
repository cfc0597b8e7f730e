import { listOf, shape, text } from '../../jobs/shape.ts'
import { commaSeparated } from '../fields.ts'

/** By what a published skill is found, as requests say it: in the query or in the body, which wins. */

const members = {
  category: text(64).empty(['', null]).description('Default that of the skill'),
  author_display_name: text().empty(['', null]),
}

export const tags = listOf(
  text(32)
    .trim()
    .pattern(/^[^,]*$/, 'text without commas'),
)
  .max(10)
  .unique()

export const listingQuery = shape(
  {},
  { ...members, tags: commaSeparated(tags).description('Separated by commas') },
)
export const listingBody = shape({}, { ...members, tags })
