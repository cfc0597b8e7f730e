import { bindActions } from './actions.ts'
import { bindKeys } from './keys.ts'
import { bindSelection } from './selection.ts'
import { bindUploads } from './upload.ts'
import { LiveRegion } from './live-region.ts'

customElements.define('live-region', LiveRegion)
bindActions(document)
bindUploads(document)
bindSelection(document)
bindKeys(document)
