"""Stage 9: the classes of the largest scores, as the harness reads them."""

import numpy as np
import workload

work = workload.Workload.parse()
classes = np.load(work.scores).argmax(1)
(work.io / "encrypted_model_predictions.txt").write_text("".join(f"{each}\n" for each in classes))
