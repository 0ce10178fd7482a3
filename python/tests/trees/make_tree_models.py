"""Writes tree_models/*.json: small models that the real xgboost and LightGBM have trained on scikit-learn's
tables, each with rows and the margins that its library gives for them. Needs both libraries:

    pip install xgboost lightgbm scikit-learn
    python python/tests/trees/make_tree_models.py [holes]

The committed files are of xgboost 3.2.0, LightGBM 4.7.0 and scikit-learn 1.9.1 (each says so itself).
"""

import json
import sys
from pathlib import Path

import lightgbm
import numpy as np
import sklearn
import xgboost
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

ROWS = 40
MISSING = 0.2
"""Part of the values of the tables with holes."""


def write(name, library, how, model, rows, margins):
    contents = {
        "library": f"{library.__name__} {library.__version__}",
        "scikit-learn": sklearn.__version__,
        "how": how,
        "rows": rows.tolist(),
        "margins": margins.reshape(len(rows), -1).tolist(),
        "model": model,
    }
    path = Path(__file__).parent / "tree_models" / f"{name}.json"
    path.write_text(json.dumps(contents, separators=(",", ":")) + "\n")


def main():
    for table, loader, regression in (
        ("breast-cancer", load_breast_cancer, False),
        ("wine", load_wine, False),
        ("diabetes", load_diabetes, True),
    ):
        data, target = loader(return_X_y=True)
        # Also rows that lie on thresholds, where < and <= differ.
        rows = data[:: len(data) // ROWS][:ROWS].copy()
        for depth, rounds in ((1, 6), (2, 8), (3, 5)):
            how = (
                f"load_{table.replace('-', '_')}, n_estimators={rounds}, max_depth={depth}, learning_rate=0.3"
            )
            settings = {"n_estimators": rounds, "max_depth": depth, "learning_rate": 0.3}
            boosted = (xgboost.XGBRegressor if regression else xgboost.XGBClassifier)(**settings)
            boosted.fit(data, target)
            model = json.loads(bytes(boosted.get_booster().save_raw("json")))
            tree = model["learner"]["gradient_booster"]["model"]["trees"][0]
            rows[0, tree["split_indices"][0]] = tree["split_conditions"][0]
            margins = boosted.predict(rows, output_margin=True)
            write(f"xgboost-{table}-{depth}", xgboost, how, model, rows, margins)
            if depth != 2:
                continue
            light = (lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier)(
                **settings, verbose=-1
            )
            light.fit(data, target)
            model = light.booster_.dump_model()
            root = model["tree_info"][0]["tree_structure"]
            rows[0, root["split_feature"]] = root["threshold"]
            margins = light.predict(rows, raw_score=True)
            write(f"lightgbm-{table}-{depth}", lightgbm, how, model, rows, margins)
    with_holes()


def with_holes():
    """Models of depth 6, trained and asked with missing values (NaN in the files), which each node takes to a
    side of its own."""
    random = np.random.default_rng(0)
    data, target = load_breast_cancer(return_X_y=True)
    data[random.random(data.shape) < MISSING] = np.nan
    rows = data[:: len(data) // ROWS][:ROWS].copy()
    rows[0] = np.nan
    how = f"load_breast_cancer with {MISSING:.0%} of the values missing, n_estimators=8, max_depth=6"
    boosted = xgboost.XGBClassifier(n_estimators=8, max_depth=6).fit(data, target)
    model = json.loads(bytes(boosted.get_booster().save_raw("json")))
    margins = boosted.predict(rows, output_margin=True)
    write("xgboost-holes-6", xgboost, how, model, rows, margins)
    light = lightgbm.LGBMClassifier(n_estimators=8, max_depth=6, verbose=-1).fit(data, target)
    margins = light.predict(rows, raw_score=True)
    write("lightgbm-holes-6", lightgbm, how, light.booster_.dump_model(), rows, margins)


if __name__ == "__main__":
    with_holes() if sys.argv[1:] == ["holes"] else main()
