import { bindActions } from './actions.ts'
import { bindKeys } from './keys.ts'
import { LiveRegion } from './live-region.ts'

customElements.define('live-region', LiveRegion)
bindActions(document)
bindKeys(document)
