import type { Area } from '../endpoint.ts'
import { buildVersion } from './build-version.ts'
import { cancelBuild } from './cancel-build.ts'
import { createDataset } from './create-dataset.ts'
import { deleteDataset } from './delete-dataset.ts'
import { diffVersions } from './diff-versions.ts'
import { exportVersion } from './export-version.ts'
import { listDatasetPushes } from './list-dataset-pushes.ts'
import { listDatasets } from './list-datasets.ts'
import { listRows } from './list-rows.ts'
import { listVersionPushes } from './list-version-pushes.ts'
import { listVersions } from './list-versions.ts'
import { pushVersion } from './push-version.ts'
import { setRedaction } from './set-redaction.ts'
import { rebuildVersion } from './rebuild-version.ts'
import { showCard } from './show-card.ts'
import { showDataset } from './show-dataset.ts'
import { showRedaction } from './show-redaction.ts'
import { showVersion } from './show-version.ts'
import { updateDataset } from './update-dataset.ts'

export const datasets: Area = [
  createDataset,
  listDatasets,
  showDataset,
  updateDataset,
  deleteDataset,
  buildVersion,
  listVersions,
  showVersion,
  exportVersion,
  listRows,
  cancelBuild,
  showRedaction,
  setRedaction,
  pushVersion,
  listVersionPushes,
  listDatasetPushes,
  rebuildVersion,
  diffVersions,
  showCard,
]
